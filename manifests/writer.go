package manifests

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"sync"
)

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

// BulkWriter is a [Writer] for many lines: they are encoded on all cores, and
// written in the order in which they came. It must be closed.
type BulkWriter struct {
	batch  []any
	n      int
	queue  chan *encoded // in order; nil until the first batch is full
	writer sync.WaitGroup
	to     io.Writer

	mu  sync.Mutex
	err error // the first; nothing is written after it
}

// encoded is a batch on its way.
type encoded struct {
	text []byte
	err  error
	done chan struct{} // closed when the others are set
}

// bulkLines is how many lines are encoded by one goroutine.
const bulkLines = 256

// NewBulkWriter writes to w.
func NewBulkWriter(w io.Writer) *BulkWriter { return &BulkWriter{to: w} }

// Write appends one line. What v points to must stay as it is until Close. The
// error is that of an earlier line.
func (w *BulkWriter) Write(v any) error {
	w.batch = append(w.batch, v)
	w.n++
	if len(w.batch) == bulkLines {
		w.send()
	}
	return w.failed()
}

// Lines is how many were given to it.
func (w *BulkWriter) Lines() int { return w.n }

// Close returns when every line is written, with the first error.
func (w *BulkWriter) Close() error {
	if len(w.batch) > 0 {
		w.send()
	}
	if w.queue != nil {
		close(w.queue)
		w.writer.Wait()
		w.queue = nil
	}
	return w.failed()
}

// send has the batch encoded and queues it for writing.
func (w *BulkWriter) send() {
	if w.queue == nil {
		w.queue = make(chan *encoded, runtime.GOMAXPROCS(0))
		w.writer.Go(func() { w.drain(w.queue) })
	}
	e := &encoded{done: make(chan struct{})}
	go e.encode(w.batch)
	w.batch = make([]any, 0, bulkLines)
	w.queue <- e
}

func (e *encoded) encode(batch []any) {
	defer close(e.done)
	var b bytes.Buffer
	lines := NewWriter(&b)
	for _, v := range batch {
		if e.err = lines.Write(v); e.err != nil {
			return
		}
	}
	e.text = b.Bytes()
}

func (w *BulkWriter) drain(queue <-chan *encoded) {
	for e := range queue {
		<-e.done
		err := e.err
		if err == nil && w.failed() == nil {
			_, err = w.to.Write(e.text)
		}
		if err != nil {
			w.mu.Lock()
			if w.err == nil {
				w.err = err
			}
			w.mu.Unlock()
		}
	}
}

func (w *BulkWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
