package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// connFD is where a child finds its end of the socket pair. Later workers get
// their shared memory in the descriptors after it.
const connFD = 3

// Handler answers one request. Its ctx ends when the caller gives up or the
// parent goes away.
type Handler func(ctx context.Context, req []byte) ([]byte, error)

var errNoParent = errors.New("worker: no socket from a parent")

// Inherited returns the connection to the parent that started this process.
func Inherited() (io.ReadWriter, error) {
	// So that a process this worker starts does not keep the parent waiting.
	unix.CloseOnExec(connFD)
	// A socket that blocks: who reads it wakes up by itself, without another
	// thread that watches it.
	f := os.NewFile(connFD, "worker socket")
	if f == nil {
		return nil, errNoParent
	}
	if info, err := f.Stat(); err != nil || info.Mode().Type() != os.ModeSocket {
		return nil, errors.Join(errNoParent, err)
	}
	return f, nil
}

// Serve answers the parent's calls until the parent goes away, which is no
// error. Each call runs in its own goroutine; how many is up to the parent.
// Serve does not wait for handlers still running: the process should exit.
func Serve(conn io.ReadWriter, handle Handler) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p, err := Greet(conn, nil)
	if err != nil {
		return err
	}
	s := &server{parent: p, handle: handle, cancels: make(map[uint64]context.CancelFunc)}
	for {
		f, err := p.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if f.kind == kindCall {
			s.start(ctx, f)
		} else {
			s.cancel(f.id)
		}
	}
}

type server struct {
	parent *Parent
	handle Handler

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
}

func (s *server) start(ctx context.Context, f frame) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.cancels[f.id] = cancel
	s.mu.Unlock()
	go func() {
		defer s.cancel(f.id)
		reply, err := s.protected(ctx, f.payload)
		// If this fails the parent is gone, and the read loop says so too.
		_ = s.parent.Reply(f.id, reply, err)
	}()
}

// protected turns a panic of the handler into an error: one bad request must
// not take the others down where that can be helped.
func (s *server) protected(ctx context.Context, req []byte) (reply []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "handler panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.handle(ctx, req)
}

func (s *server) cancel(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
		delete(s.cancels, id)
	}
}
