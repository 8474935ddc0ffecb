package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// role tells the re-executed test binary what to be.
const role = "MELFORGE_WORKER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "worker":
		serveTest(newTestHandler())
	case "deaf": // ready, then neither reads nor exits
		conn, err := Inherited()
		check(err)
		check(writeFrame(conn, frame{kind: kindHello, payload: []byte{version}}))
		hang()
	case "about": // answers two calls in the other order
		conn, err := Inherited()
		check(err)
		p, err := Greet(conn, []byte("a test"))
		check(err)
		first, words, err := p.Next()
		if err == io.EOF {
			os.Exit(0)
		}
		check(err)
		second, reply, err := p.Next()
		check(err)
		check(p.Reply(second, reply, nil))
		check(p.Reply(first, nil, fmt.Errorf("%s came first", words)))
		_, _, err = p.Next()
		check(err)
	case "mute":
		hang()
	case "stranger":
		conn, err := Inherited()
		check(err)
		check(writeFrame(conn, frame{kind: kindHello, payload: []byte{version + 1}}))
		hang()
	case "chatter":
		conn, err := Inherited()
		check(err)
		_, err = conn.Write([]byte("Hello! This is not a frame at all."))
		check(err)
		hang()
	case "stillborn":
		fmt.Fprintln(os.Stderr, "libsomething.so: cannot open shared object file")
		os.Exit(127)
	case "parent": // starts a deaf worker, says its pid, waits to be killed
		p, err := Start(context.Background(), options("deaf"))
		check(err)
		fmt.Println(p.Pid())
		hang()
	}
}

func serveTest(h Handler) {
	conn, err := Inherited()
	check(err)
	check(Serve(conn, h))
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hang blocks for ever, without the runtime calling it a deadlock.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

func options(as string) Options {
	exe, err := os.Executable()
	check(err)
	return Options{Path: exe, Env: append(os.Environ(), role+"="+as)}
}

// testHandler obeys requests of the form "verb argument".
type testHandler struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int
}

func newTestHandler() Handler {
	h := &testHandler{}
	h.changed = sync.NewCond(&h.mu)
	return h.handle
}

func (h *testHandler) enter(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running += n
	h.changed.Broadcast()
}

// crowd waits until n calls run in this child.
func (h *testHandler) crowd(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.running < n {
		h.changed.Wait()
	}
}

func (h *testHandler) handle(ctx context.Context, req []byte) ([]byte, error) {
	verb, arg, _ := strings.Cut(string(req), " ")
	switch verb {
	case "echo":
		return []byte(arg), nil
	case "fail":
		return nil, errors.New(arg)
	case "panic":
		panic(arg)
	case "say":
		fmt.Fprintln(os.Stderr, arg)
		return nil, nil
	case "note":
		return fmt.Append(nil, attempt(arg)), nil
	case "exit":
		fmt.Fprintln(os.Stderr, "going", "down")
		os.Exit(3)
	case "kill":
		check(unix.Kill(os.Getpid(), unix.SIGKILL))
		hang()
	case "hang":
		hang()
	case "wait": // until cancelled; the file says that the cancellation came
		<-ctx.Done()
		check(os.WriteFile(arg, nil, 0o600))
		return nil, ctx.Err()
	case "allocate":
		var n int
		_, err := fmt.Sscan(arg, &n)
		b := make([]byte, n)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		return b[:1], err
	case "victim": // hangs the first time, then reports who else is running
		first := attempt(arg) == 1 // before it counts as running: then it may be killed
		h.enter(1)
		defer h.enter(-1)
		if first {
			hang()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		return fmt.Append(nil, h.running), nil
	case "killer": // kills a crowd of four the first time, then whatever it meets
		h.enter(1)
		if attempt(arg) == 1 {
			h.crowd(4)
		}
		check(unix.Kill(os.Getpid(), unix.SIGKILL))
		hang()
	}
	return nil, fmt.Errorf("unknown verb %q", verb)
}

// attempt counts, across processes, how often a file's owner was tried.
func attempt(file string) int {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	_, err = f.WriteString("x")
	check(err)
	info, err := f.Stat()
	check(err)
	check(f.Close())
	return int(info.Size())
}
