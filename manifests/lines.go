package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"
)

// maxLine bounds one JSON line; the text in it is capped far below.
const maxLine = 4 << 20

// line is a type that stands on one line of a JSON lines file.
type line[T any] interface {
	*T
	validate() error
}

// Entries reads a manifest line by line; name stands in its errors.
func Entries(r io.Reader, name string) iter.Seq2[Entry, error] { return lines[Entry](r, name) }

// Rejects reads a rejects file line by line; name stands in its errors.
func Rejects(r io.Reader, name string) iter.Seq2[Reject, error] { return lines[Reject](r, name) }

// Items reads a plan's items line by line; name stands in its errors.
func Items(r io.Reader, name string) iter.Seq2[Item, error] { return lines[Item](r, name) }

// lines decodes a JSON lines file and ends at its first error. Decoding takes
// longer than whatever is done with the lines, so that they are read and decoded
// ahead, on all cores.
func lines[T any, P line[T]](r io.Reader, name string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		quit := make(chan struct{})
		ahead := make(chan *portion[T], runtime.GOMAXPROCS(0))
		var reader sync.WaitGroup
		reader.Go(func() {
			defer close(ahead)
			cut[T, P](r, name, ahead, quit)
		})
		defer reader.Wait() // the caller closes what is read
		defer close(quit)
		for p := range ahead {
			<-p.decoded
			for _, v := range p.values {
				if !yield(v, nil) {
					return
				}
			}
			if p.err != nil {
				var zero T
				yield(zero, p.err)
				return
			}
		}
	}
}

// A portion of a file is decoded by one goroutine. Its size is bounded by lines,
// and by bytes where lines are long.
const (
	portionLines = 256
	portionBytes = 256 << 10
)

// portion is some lines of a file.
type portion[T any] struct {
	text    []byte
	ends    []int // of the lines in text
	first   int   // the number of its first line
	values  []T
	err     error         // what ended the file, after values
	decoded chan struct{} // closed when values and err are there
}

// cut sends a file on in portions that are being decoded.
func cut[T any, P line[T]](r io.Reader, name string, to chan<- *portion[T], quit <-chan struct{}) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n, more := 0, true; more; {
		p := &portion[T]{first: n + 1, decoded: make(chan struct{})}
		for len(p.ends) < portionLines && len(p.text) < portionBytes {
			if more = s.Scan(); !more {
				break
			}
			p.text = append(p.text, s.Bytes()...)
			p.ends = append(p.ends, len(p.text))
		}
		n += len(p.ends)
		if err := s.Err(); err != nil && !more {
			p.err = fmt.Errorf("%s, after line %d: %w", name, n, err)
		}
		go decode[T, P](p, name)
		select {
		case to <- p:
		case <-quit:
			return
		}
	}
}

// decode decodes a portion up to its first error.
func decode[T any, P line[T]](p *portion[T], name string) {
	defer close(p.decoded)
	p.values = make([]T, 0, len(p.ends))
	from := 0
	line := bytes.NewReader(nil)
	dec := json.NewDecoder(line) // one for all lines: to make one takes half as long as to decode a line
	dec.DisallowUnknownFields()
	for i, end := range p.ends {
		var v T
		line.Reset(p.text[from:end])
		err := dec.Decode(&v)
		if err == nil && len(bytes.TrimSpace(p.text[dec.InputOffset():end])) > 0 {
			err = errors.New("there is more than one value")
		}
		if err == nil {
			err = P(&v).validate()
		}
		if err != nil {
			p.err = fmt.Errorf("%s, line %d: %w", name, p.first+i, err)
			return
		}
		p.values = append(p.values, v)
		from = end
	}
}
