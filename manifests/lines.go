package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds one JSON line; the text in it is capped far below.
const maxLine = 4 << 20

// line is a type that stands on one line of a JSON lines file.
type line[T any] interface {
	*T
	validate() error
}

// Writer writes one JSON object a line and keeps its first error.
type Writer struct {
	enc *json.Encoder
	n   int
	err error
}

// NewWriter writes to w, which the caller buffers.
func NewWriter(w io.Writer) *Writer {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // the texts are for people to read
	return &Writer{enc: enc}
}

// Write appends one line.
func (w *Writer) Write(v any) error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.enc.Encode(v); w.err == nil {
		w.n++
	}
	return w.err
}

// Lines is how many were written.
func (w *Writer) Lines() int { return w.n }

// Entries reads a manifest line by line; name stands in its errors.
func Entries(r io.Reader, name string) iter.Seq2[Entry, error] { return lines[Entry](r, name) }

// Rejects reads a rejects file line by line; name stands in its errors.
func Rejects(r io.Reader, name string) iter.Seq2[Reject, error] { return lines[Reject](r, name) }

// Items reads a plan's items line by line; name stands in its errors.
func Items(r io.Reader, name string) iter.Seq2[Item, error] { return lines[Item](r, name) }

// lines decodes a JSON lines file and ends at its first error.
func lines[T any, P line[T]](r io.Reader, name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		var zero T
		n := 0
		for s.Scan() {
			n++
			var v T
			dec := json.NewDecoder(bytes.NewReader(s.Bytes()))
			dec.DisallowUnknownFields()
			err := dec.Decode(&v)
			if err == nil {
				err = P(&v).validate()
			}
			if err != nil {
				yield(zero, fmt.Errorf("%s, line %d: %w", name, n, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(zero, fmt.Errorf("%s, after line %d: %w", name, n, err))
		}
	}
}
