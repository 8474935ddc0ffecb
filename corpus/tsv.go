package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// tsvRows splits lines by tabs into a row that it reuses.
type tsvRows struct {
	columns *columns
	row     []string
	quotes  bool // whether a field may be wrapped in quotes
}

func newTSV(scan *scanner) (records, error) {
	t := &tsvRows{quotes: true}
	if err := t.readHeader(scan); err != nil {
		return nil, err
	}
	return &lines{scan, t.parse}, nil
}

// readHeader takes the first line that is not blank.
func (t *tsvRows) readHeader(scan *scanner) error {
	for {
		raw, err := scan.next()
		if err == io.EOF {
			return errors.New("corpus is empty: there is no header")
		}
		if err != nil {
			return err
		}
		if raw.bad != nil {
			return fmt.Errorf("the header cannot be read: %w", raw.bad)
		}
		if len(bytes.TrimSpace(raw.text)) == 0 {
			continue
		}
		if err := vet(raw.text); err != nil {
			_, err = numbered(Line{}, raw.number, err)
			return fmt.Errorf("the header cannot be read: %w", err)
		}
		t.split(string(raw.text))
		t.columns, err = newColumns(t.row, "\t")
		return err
	}
}

func (t *tsvRows) split(line string) {
	t.row = t.row[:0]
	for field := range strings.SplitSeq(line, "\t") {
		if t.quotes {
			field = unquote(field)
		}
		t.row = append(t.row, field)
	}
}

func (t *tsvRows) parse(raw []byte) (Line, error) {
	t.split(string(raw))
	return t.columns.line(t.row)
}

// unquote undoes the quotes that pandas puts around a field with quotes in it.
// A field that only begins and ends with quotes of its own is left alone.
func unquote(field string) string {
	if len(field) < 2 || field[0] != '"' || field[len(field)-1] != '"' {
		return field
	}
	inner := field[1 : len(field)-1]
	if strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) {
		return field
	}
	return strings.ReplaceAll(inner, `""`, `"`)
}
