package worker

import (
	"bytes"
	"strings"
	"sync"
)

const (
	keepLines = 12   // of the child's last words, for Died
	maxLine   = 4096 // bytes; the rest of a longer line is a line of its own
)

// output takes what the child prints, line by line: to the log, and its last
// words into memory.
type output struct {
	log func(line string)

	mu      sync.Mutex
	partial []byte
	last    []string
	crashed bool // the cause was said; a long dump of stacks follows
}

// crashes are how the Go runtime begins to tell why it ends the process.
var crashes = []string{"fatal error: ", "panic: ", "SIGABRT: ", "SIGSEGV: ", "SIGBUS: ", "SIGFPE: ", "SIGILL: "}

// Write implements io.Writer; it never fails.
func (o *output) Write(b []byte) (int, error) {
	n := len(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		piece, ended := b, false
		if end >= 0 {
			piece, ended = b[:end], true
		}
		if room := maxLine - len(o.partial); len(piece) >= room {
			piece, end, ended = piece[:room], room-1, true
		}
		o.partial = append(o.partial, piece...)
		if !ended {
			break
		}
		o.flush()
		b = b[end+1:]
	}
	return n, nil
}

// flush ends the current line. o.mu is held.
func (o *output) flush() {
	line := string(bytes.TrimRight(o.partial, "\r"))
	o.partial = o.partial[:0]
	if line == "" {
		return
	}
	if o.log != nil {
		o.log(line)
	}
	if o.crashed {
		return
	}
	if len(o.last) == keepLines {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, line)
	for _, c := range crashes {
		o.crashed = o.crashed || strings.HasPrefix(line, c)
	}
}

// tail ends the last line and returns the last few.
func (o *output) tail() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	return append([]string(nil), o.last...)
}
