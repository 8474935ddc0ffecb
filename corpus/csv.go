package corpus

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// How far an open quote is followed.
const (
	maxRecordBytes = 64 << 10
	maxRecordLines = 200
)

// csvRecords gathers physical lines until their quotes are closed and has
// encoding/csv take the record apart. Gathering is done here because
// encoding/csv cannot go back: after a stray quote it would swallow the rest of
// the file.
type csvRecords struct {
	scan    *scanner
	columns *columns
	record  []byte       // the record being gathered
	feed    bytes.Reader // what fields reads: one record at a time
	fields  *csv.Reader
}

func newCSV(scan *scanner) (records, error) {
	c := &csvRecords{scan: scan}
	for {
		header, _, err := c.row()
		if bad, ok := err.(*BadLine); ok && bad.Reason == Empty {
			continue
		}
		if err == io.EOF {
			return nil, errors.New("corpus is empty: there is no header")
		}
		if err != nil {
			return nil, fmt.Errorf("the header cannot be read: %w", err)
		}
		c.columns, err = newColumns(header, ",")
		return c, err
	}
}

func (c *csvRecords) next() (Line, error) {
	row, number, err := c.row()
	if err != nil {
		l, _ := c.columns.line(row) // for its id
		return Line{ID: strings.ToValidUTF8(l.ID, "\uFFFD")}, err
	}
	l, err := c.columns.line(row)
	return numbered(l, number, err)
}

// row returns the fields of the next record, valid until the next call, and
// the line where it starts. Fields that are not UTF-8 come with their error.
func (c *csvRecords) row() (row []string, number int, err error) {
	first, err := c.scan.next()
	if err != nil {
		return nil, 0, err
	}
	if first.bad != nil {
		return nil, 0, first.bad
	}
	number = first.number
	err = c.gather(first)
	if err == nil {
		row, err = c.split()
		if unfit := vet(c.record); unfit != nil {
			err = unfit
		}
	}
	_, err = numbered(Line{}, number, err)
	return row, number, err
}

// gather puts the record that starts with first into c.record. When its quotes
// do not work out, only first is spent.
func (c *csvRecords) gather(first rawLine) error {
	// A line break in the record is CRLF here, which encoding/csv reads as LF:
	// so it drops the CR that was added and none that was there.
	const lineBreak = "\r\n"
	c.record = append(append(c.record[:0], first.text...), lineBreak...)
	open, err := scanQuotes(first.text, false)
	if err != nil {
		return err
	}
	n := 0
	for ; open; n++ {
		if n+1 >= maxRecordLines || len(c.record) > maxRecordBytes {
			return neverClosed(first.number)
		}
		l, err := c.scan.peek(n)
		if err != nil || l.bad != nil {
			return neverClosed(first.number) // the scanner serves the error again
		}
		if open, err = scanQuotes(l.text, true); err != nil {
			return neverClosed(first.number)
		}
		c.record = append(append(c.record, l.text...), lineBreak...)
	}
	c.scan.skip(n)
	return nil
}

func neverClosed(number int) *BadLine {
	return reject(BadCSV, "the quote opened on line %d is never closed", number)
}

// scanQuotes reports whether a quoted field is open at the end of a line, given
// whether one was open before it.
func scanQuotes(line []byte, open bool) (bool, error) {
	for at := 0; ; {
		if !open {
			if at < len(line) && line[at] == '"' {
				open = true
				at++
			} else {
				comma := bytes.IndexByte(line[at:], ',')
				if comma < 0 {
					return false, nil
				}
				at += comma + 1
				continue
			}
		}
		quote := bytes.IndexByte(line[at:], '"')
		if quote < 0 {
			return true, nil
		}
		at += quote + 1
		switch {
		case at == len(line):
			return false, nil
		case line[at] == '"':
			at++
		case line[at] == ',':
			open = false
			at++
		default:
			return false, reject(BadCSV, "a quote at position %d is neither doubled nor at the end of its field", at)
		}
	}
}

// split takes the gathered record apart. One csv.Reader serves all records, as
// each ends exactly where its feed does.
func (c *csvRecords) split() ([]string, error) {
	if c.fields == nil {
		c.fields = csv.NewReader(&c.feed)
		c.fields.FieldsPerRecord = -1
		c.fields.ReuseRecord = true
		c.fields.LazyQuotes = true // quoted fields were checked while gathering
	}
	c.feed.Reset(c.record)
	row, err := c.fields.Read()
	if err != nil {
		c.fields = nil // it may hold a rest of this record
		return nil, reject(BadCSV, "%v", err)
	}
	return row, nil
}
