package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxLine is the longest physical line that is kept, in bytes.
const maxLine = 1 << 20

// scanner cuts a stream into physical lines, and can look ahead so that a csv
// record that turns out to be broken gives back the lines it tried.
type scanner struct {
	buf    *bufio.Reader
	number int       // of the last line read from buf
	long   []byte    // a line that did not fit into buf
	ahead  []rawLine // lines looked at and not yet returned
	err    error     // what ended buf
}

// rawLine is a physical line without its ending. bad is set, and text is nil,
// when the line is too long to keep.
type rawLine struct {
	number int
	text   []byte
	bad    *BadLine
}

// next returns the next line. Its text is valid until the next call of next or
// peek.
func (s *scanner) next() (rawLine, error) {
	if len(s.ahead) > 0 {
		l := s.ahead[0]
		s.skip(1)
		return l, nil
	}
	return s.read()
}

// peek returns the line that is i lines after the one next would return.
func (s *scanner) peek(i int) (rawLine, error) {
	for len(s.ahead) <= i {
		l, err := s.read()
		if err != nil {
			return rawLine{}, err
		}
		l.text = bytes.Clone(l.text)
		s.ahead = append(s.ahead, l)
	}
	return s.ahead[i], nil
}

// skip drops n lines that were looked at.
func (s *scanner) skip(n int) {
	clear(s.ahead[:n])
	s.ahead = s.ahead[n:]
}

// read takes a line from buf. Its error is sticky, so that lines looked at
// before it are still served.
func (s *scanner) read() (rawLine, error) {
	if s.err != nil {
		return rawLine{}, s.err
	}
	text, size, err := s.slice()
	if err == io.EOF && size > 0 {
		err = nil // the last line may lack its ending
	}
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("reading stopped after line %d, is the file damaged or cut off? %w", s.number, err)
		}
		s.err = err
		return rawLine{}, err
	}
	s.number++
	l := rawLine{number: s.number, text: chomp(text)}
	if size > len(text) || len(l.text) > maxLine {
		l.text = nil
		l.bad = &BadLine{Number: s.number, Reason: TooLong,
			Detail: fmt.Sprintf("%d bytes, at most %d are read", size, maxLine)}
	}
	return l, nil
}

// slice returns the next line with its ending and its size in bytes. Of a line
// above maxLine it returns a part, so that no line is ever held whole.
func (s *scanner) slice() (text []byte, size int, err error) {
	text, err = s.buf.ReadSlice('\n')
	size = len(text)
	if err != bufio.ErrBufferFull {
		return text, size, err
	}
	s.long = append(s.long[:0], text...)
	for err == bufio.ErrBufferFull {
		text, err = s.buf.ReadSlice('\n')
		size += len(text)
		if size <= maxLine+len("\r\n") {
			s.long = append(s.long, text...)
		}
	}
	return s.long, size, err
}

// chomp removes one line ending, LF or CRLF. The last line of a CRLF file cut
// after its CR counts as ended too.
func chomp(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// vet refuses what no format can use.
func vet(record []byte) error {
	if len(bytes.TrimSpace(record)) == 0 {
		return reject(Empty, "a blank line")
	}
	if utf8.Valid(record) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(record[at:])
		if r == utf8.RuneError && n == 1 {
			return reject(InvalidUTF8, "byte 0x%02X at position %d is not UTF-8; if the file is Latin-1, convert it with: iconv -f LATIN1 -t UTF-8",
				record[at], at+1)
		}
		at += n
	}
}
