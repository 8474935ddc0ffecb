// Package timeline records what this process did and when, as a trace that
// Perfetto and Chrome draw: a group of rows for each kind of work, a row for each
// that went on at the same time.
package timeline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// recorder writes spans as they end.
type recorder struct {
	mu     sync.Mutex
	w      *bufio.Writer
	zero   time.Time
	tracks map[string]*track
	events int
	err    error // the first; nothing is written after it
}

// track is a group of rows.
type track struct {
	id   int
	rows []time.Duration // when each was free again
}

var now atomic.Pointer[recorder]

// To has what Add is told written to w, until stop is called, which says whether
// all of it was. There is one timeline at a time.
func To(w io.Writer) (stop func() error) {
	r := &recorder{w: bufio.NewWriterSize(w, 1<<16), zero: time.Now(), tracks: map[string]*track{}}
	if !now.CompareAndSwap(nil, r) {
		return func() error { return errors.New("a timeline is being recorded already") }
	}
	r.write("[")
	return func() error {
		now.CompareAndSwap(r, nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.write("\n]\n")
		if r.err == nil {
			r.err = r.w.Flush()
		}
		if err := r.err; err != nil {
			return err
		}
		r.err = io.ErrClosedPipe // who is late is not heard
		return nil
	}
}

// Add records that something on a track, called name, began at start and ended
// now; of says what it was done with, and may be empty. Without a timeline it
// costs nothing.
func Add(on, name, of string, start time.Time) {
	if r := now.Load(); r != nil {
		r.add(on, name, of, start, time.Now())
	}
}

func (r *recorder) add(on, name, of string, start, end time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, to := max(0, start.Sub(r.zero)), end.Sub(r.zero)
	if to < from {
		return // it was over before this began
	}
	t := r.track(on)
	row := t.row(from)
	if row == len(t.rows) {
		t.rows = append(t.rows, 0)
		r.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}`, t.id, row, quoted(fmt.Sprint(on, " ", row+1)))
		r.event(`{"ph":"M","pid":%d,"tid":%d,"name":"thread_sort_index","args":{"sort_index":%d}}`, t.id, row, row) // or 10 comes after 1
	}
	t.rows[row] = to
	args := ""
	if of != "" {
		args = `,"args":{"of":` + quoted(of) + `}`
	}
	r.event(`{"ph":"X","pid":%d,"tid":%d,"name":%s,"ts":%.3f,"dur":%.3f%s}`, t.id, row, quoted(name), micros(from), micros(to-from), args)
}

// track finds a track, or begins it.
func (r *recorder) track(name string) *track {
	t := r.tracks[name]
	if t == nil {
		t = &track{id: len(r.tracks) + 1}
		r.tracks[name] = t
		r.event(`{"ph":"M","pid":%d,"name":"process_name","args":{"name":%s}}`, t.id, quoted(name))
	}
	return t
}

// row is the first that is free from then on, or one more. Spans come when they
// end, so a row that was free before is free.
func (t *track) row(from time.Duration) int {
	for i, free := range t.rows {
		if free <= from {
			return i
		}
	}
	return len(t.rows)
}

func (r *recorder) event(format string, args ...any) {
	if r.events > 0 {
		r.write(",")
	}
	r.events++
	r.write("\n" + fmt.Sprintf(format, args...))
}

func (r *recorder) write(s string) {
	if r.err == nil {
		_, r.err = r.w.WriteString(s)
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// quoted is a string in JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string never fails
		return `""`
	}
	return string(b)
}

// File is To with a new file.
func File(path string) (stop func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	end := To(f)
	return func() error { return errors.Join(end(), f.Close()) }, nil
}
