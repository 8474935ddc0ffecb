package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func start(t *testing.T, o Options) *Process {
	t.Helper()
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func ask(t *testing.T, c interface {
	Call(context.Context, []byte) ([]byte, error)
}, req string) (string, error) {
	t.Helper()
	reply, err := c.Call(t.Context(), []byte(req))
	return string(reply), err
}

func TestCallsInFlight(t *testing.T) {
	p := start(t, options("worker"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := strings.Repeat(fmt.Sprint(i, ","), i*1000)
			if got, err := ask(t, p, "echo "+want); err != nil || got != want {
				t.Errorf("call %d: %d bytes, want %d; %v", i, len(got), len(want), err)
			}
		})
	}
	wg.Wait()
}

func TestHandlerErrorsLeaveTheChildAlive(t *testing.T) {
	p := start(t, options("worker"))
	for req, want := range map[string]string{"fail no such voice": "no such voice", "panic oh dear": "panic: oh dear", "dance": "unknown verb"} {
		_, err := ask(t, p, req)
		var remote *RemoteError
		if !errors.As(err, &remote) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a RemoteError with %q", req, err, want)
		}
	}
	if got, err := ask(t, p, "echo still here"); err != nil || got != "still here" {
		t.Errorf("after the errors: %q, %v", got, err)
	}
}

func TestDeath(t *testing.T) {
	for _, c := range []struct {
		req, state, stderr string
		limit              uint64
	}{
		{req: "exit", state: "exit status 3", stderr: "going down"},
		{req: "kill", state: "signal: killed"},
		// Out of memory the runtime may not even get to say so.
		{req: "allocate 2000000000", state: "exit status 2", limit: 256 << 20},
	} {
		t.Run(c.req, func(t *testing.T) {
			if c.limit > 0 && raceDetector {
				t.Skip("the race detector's own memory is above any limit")
			}
			o := options("worker")
			o.MemoryLimit = c.limit
			p := start(t, o)
			bystander := make(chan error, 1)
			go func() {
				_, err := p.Call(t.Context(), []byte("hang"))
				bystander <- err
			}()
			_, err := ask(t, p, c.req)
			for _, err := range []error{err, <-bystander} {
				var died *Died
				if !errors.As(err, &died) || died.State != c.state || !strings.Contains(strings.Join(died.Stderr, "\n"), c.stderr) {
					t.Errorf("%v; want a Died with %q and %q", err, c.state, c.stderr)
				}
			}
			if _, err := ask(t, p, "echo x"); !isDied(err) {
				t.Errorf("a call after death: %v, want a Died", err)
			}
		})
	}
}

func TestMemoryLimitLeavesRoomBelow(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory is above any limit")
	}
	o := options("worker")
	o.MemoryLimit = 1 << 30
	if _, err := ask(t, start(t, o), "allocate 200000000"); err != nil {
		t.Error(err)
	}
}

func TestTimeoutKills(t *testing.T) {
	o := options("worker")
	o.Timeout = 50 * time.Millisecond
	p := start(t, o)
	_, err := ask(t, p, "hang")
	var died *Died
	if !errors.As(err, &died) || died.Timeout != o.Timeout {
		t.Errorf("%v, want a Died with the timeout", err)
	}
}

func TestStartFailures(t *testing.T) {
	missing := options("worker")
	missing.Path = filepath.Join(t.TempDir(), "melforge-nothing")
	for want, o := range map[string]Options{
		"no such file":       missing,
		"cannot open shared": options("stillborn"),
		"another protocol":   options("stranger"),
		"not a worker frame": options("chatter"),
	} {
		p, err := Start(t.Context(), o)
		if err == nil || isDied(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a plain error with %q", err, want)
		}
		if p != nil {
			t.Errorf("%s: a process beside the error", want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, options("mute")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a child that never says hello: %v", err)
	}
}

func TestCancelReturnsAndTellsTheChild(t *testing.T) {
	p := start(t, options("worker"))
	sign := filepath.Join(t.TempDir(), "cancelled")
	ctx, cancel := context.WithCancel(t.Context())
	c, err := p.begin(ctx, []byte("wait "+sign), 0)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := c.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	<-c.done
	if _, err := os.Stat(sign); err != nil {
		t.Errorf("the handler was not cancelled: %v", err)
	}
	if got, err := ask(t, p, "echo fine"); err != nil || got != "fine" {
		t.Errorf("after a cancelled call: %q, %v", got, err)
	}
}

func TestCancelWhenTheChildDoesNotRead(t *testing.T) {
	p := start(t, options("deaf"))
	for range 3 { // the first ones fill the socket, the last ones wait for the writer
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := p.Call(ctx, make([]byte, 8<<20)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want deadline exceeded", err)
		}
		cancel()
	}
	p.kill() // Close would wait out its grace
}

func TestCloseEndsCallsAndReaps(t *testing.T) {
	p := start(t, options("worker"))
	c, err := p.begin(t.Context(), []byte("hang"), 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.Close()
	if _, err := c.wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("call in flight at Close: %v", err)
	}
	if _, err := ask(t, p, "echo x"); !errors.Is(err, ErrClosed) {
		t.Errorf("call after Close: %v", err)
	}
	if err := unix.Kill(p.Pid(), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the child is still there, or a zombie: %v", err)
	}
}

func TestNoDescriptorsLeak(t *testing.T) {
	once := func() {
		p, err := Start(t.Context(), options("worker"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, p, "exit"); !isDied(err) {
			t.Fatal(err)
		}
		p.Close()
		if _, err := Start(t.Context(), options("stillborn")); err == nil {
			t.Fatal("the stillborn started")
		}
	}
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(fds)
	}
	once() // the runtime opens its own first
	before := count()
	for range 5 {
		once()
	}
	if after := count(); after > before {
		t.Errorf("%d open descriptors before, %d after", before, after)
	}
}

// The worker is deaf, so only the death signal can end it.
func TestChildDiesWithItsParent(t *testing.T) {
	o := options("parent")
	cmd := exec.Command(o.Path)
	cmd.Env = o.Env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(bufio.NewReader(stdout), &pid); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
	}
	if n != 1 || err != nil {
		t.Errorf("the worker outlives its parent: poll %d, %v", n, err)
	}
	_ = cmd.Wait() // killed, as asked
}

func TestOutput(t *testing.T) {
	var got []string
	o := &output{log: func(line string) { got = append(got, line) }}
	for _, s := range []string{"one\ntw", "o\n\nthr", "ee\r\n", strings.Repeat("x", maxLine+1), "\nlast"} {
		o.Write([]byte(s))
	}
	want := []string{"one", "two", "three", strings.Repeat("x", maxLine), "x", "last"}
	if tail := o.tail(); !slices.Equal(got, want) || !slices.Equal(tail, want) {
		t.Errorf("logged %q, kept %q", got, tail)
	}
	o.Write(bytes.Repeat([]byte("y\n"), 100))
	if n := len(o.tail()); n != keepLines {
		t.Errorf("kept %d lines, want %d", n, keepLines)
	}
	o.Write([]byte("fatal error: out of luck\n" + strings.Repeat("stack\n", 100)))
	if last := o.tail(); last[len(last)-1] != "fatal error: out of luck" {
		t.Errorf("the cause is lost in %q", last)
	}
}
