package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
)

// connFD is where a child finds its end of the socket pair. Later workers get
// their shared memory in the descriptors after it.
const connFD = 3

// Handler answers one request. Its ctx ends when the caller gives up or the
// parent goes away.
type Handler func(ctx context.Context, req []byte) ([]byte, error)

// Inherited returns the connection to the parent that started this process.
func Inherited() (net.Conn, error) {
	f := os.NewFile(connFD, "worker socket")
	if f == nil {
		return nil, errors.New("worker: no socket from a parent")
	}
	// FileConn duplicates it close-on-exec, so that a process this worker
	// starts does not keep the parent waiting.
	conn, err := net.FileConn(f)
	return conn, errors.Join(err, f.Close())
}

// Serve answers the parent's calls until the parent goes away, which is no
// error. Each call runs in its own goroutine; how many is up to the parent.
// Serve does not wait for handlers still running: the process should exit.
func Serve(conn io.ReadWriter, handle Handler) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := &server{conn: conn, handle: handle, cancels: make(map[uint64]context.CancelFunc)}
	if err := s.send(frame{kind: kindHello, payload: []byte{version}}); err != nil {
		return err
	}
	in := bufio.NewReader(conn)
	for {
		f, err := readFrame(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("worker: read from parent: %w", err)
		}
		switch f.kind {
		case kindCall:
			s.start(ctx, f)
		case kindCancel:
			s.cancel(f.id)
		default:
			return fmt.Errorf("worker: %w: kind %d from parent", errFrame, f.kind)
		}
	}
}

type server struct {
	conn   io.ReadWriter
	handle Handler

	write sync.Mutex // one frame at a time

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
		answer := frame{id: f.id, kind: kindReply}
		reply, err := s.protected(ctx, f.payload)
		if err == nil && len(reply) > MaxPayload {
			err = fmt.Errorf("reply of %d bytes, the limit is %d", len(reply), MaxPayload)
		}
		answer.payload = reply
		if err != nil {
			answer.kind, answer.payload = kindError, []byte(err.Error())
		}
		// If this fails the parent is gone, and the read loop says so too.
		_ = s.send(answer)
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

func (s *server) send(f frame) error {
	s.write.Lock()
	defer s.write.Unlock()
	return writeFrame(s.conn, f)
}
