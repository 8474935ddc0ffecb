package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrClosed is returned by calls on a Process or Supervisor that was closed.
var ErrClosed = errors.New("worker: closed")

// Died reports that the child ended while a call was in flight. Which of the
// calls in flight was guilty is for the Supervisor to find out.
type Died struct {
	Worker  string        // the child's name
	State   string        // "exit status 3", "signal: killed"
	Timeout time.Duration // not 0: killed because a call took longer than this
	Stderr  []string      // the last lines it wrote
}

// Error implements error.
func (d *Died) Error() string { return fmt.Sprintf("worker %s died: %s", d.Worker, d.how()) }

// how says how it ended, and what it said.
func (d *Died) how() string {
	var b strings.Builder
	b.WriteString(d.State)
	if d.Timeout > 0 {
		fmt.Fprintf(&b, " after a call took longer than %v", d.Timeout)
	}
	if len(d.Stderr) > 0 {
		b.WriteString("; it said: ")
		b.WriteString(strings.Join(d.Stderr, " | "))
	}
	return b.String()
}

// RemoteError is an error that the child's handler returned. The child lives.
type RemoteError struct {
	Worker  string
	Message string
}

// Error implements error.
func (e *RemoteError) Error() string { return e.Worker + ": " + e.Message }
