package worker

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Options say how to start a child.
type Options struct {
	Path        string            // the program
	Args        []string          // its arguments, without the program's name
	Env         []string          // nil: this process's own
	MemoryLimit uint64            // bytes of private writable memory (RLIMIT_DATA); 0: no limit
	First       []byte            // the call that every child gets before others: it is ready when it has answered; nil: none
	Timeout     time.Duration     // a call that takes longer is a hang and kills the child; 0: never
	Log         func(line string) // what the child prints, and its restarts; may be nil
}

const (
	startTimeout = 60 * time.Second // until the child says hello
	grace        = 5 * time.Second  // between asking it to end and killing it
	drainTime    = 2 * time.Second  // for what a dead child left in its pipes
)

// Process is one running child. It is safe for concurrent use.
type Process struct {
	o     Options
	name  string
	cmd   *exec.Cmd
	conn  *net.UnixConn
	words *output

	out     chan frame    // to the goroutine that writes
	hello   chan struct{} // closed when the child is there and about is set
	about   []byte        // what it said of itself
	drained chan struct{} // closed when nothing more can be read
	done    chan struct{} // closed when the child is gone and err is set

	mu       sync.Mutex
	calls    map[uint64]*call
	lastID   uint64
	closing  bool
	timedOut time.Duration // not 0: a call took longer than this
	protocol error         // why the parent gave the child up
	err      error         // what calls get, once done is closed
}

// Start runs a child and waits until it is ready. A child that ends before is
// an error that holds its last words.
func Start(ctx context.Context, o Options) (*Process, error) {
	p, err := Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, o.First); err != nil {
		return nil, err
	}
	return p, nil
}

// Begin is Start without the first call, which a Supervisor that adopts the child
// makes.
func Begin(ctx context.Context, o Options) (*Process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("worker: socket pair: %w", err)
	}
	p := &Process{
		o:       o,
		name:    filepath.Base(o.Path),
		cmd:     exec.Command(o.Path, o.Args...),
		conn:    ours,
		words:   &output{log: o.Log},
		out:     make(chan frame),
		hello:   make(chan struct{}),
		drained: make(chan struct{}),
		done:    make(chan struct{}),
		calls:   make(map[uint64]*call),
	}
	p.cmd.Env = o.Env
	p.cmd.Stdout, p.cmd.Stderr = p.words, p.words
	p.cmd.ExtraFiles = []*os.File{theirs}
	p.cmd.WaitDelay = drainTime
	// Its own process group: an interrupt typed at the terminal is for the
	// parent to handle, not for the child to die of.
	p.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}

	started := make(chan error, 1)
	go p.keep(started)
	err = <-started
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("worker: start %s: %w", p.name, err)
	}
	go p.read()
	go p.write()
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// socketPair returns the parent's end as a connection and the child's as a
// file to inherit.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "worker child")
	defer ours.Close() // FileConn duplicates it
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// keep starts the child and reaps it. It holds on to its thread until then:
// the kernel sends the death signal when the thread that forked ends, not when
// the process does.
func (p *Process) keep(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	if n := p.o.MemoryLimit; n > 0 {
		limit := unix.Rlimit{Cur: n, Max: n}
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_DATA, &limit, nil); err != nil {
			p.giveUp(fmt.Errorf("limit its memory to %d bytes: %w", n, err))
		}
	}
	started <- nil
	waitErr := p.cmd.Wait()
	// A grandchild that inherited the socket would keep it open for ever.
	_ = p.conn.SetReadDeadline(time.Now().Add(drainTime))
	<-p.drained
	p.finish(waitErr)
}

// ready waits for the child's first frame and cleans up if it does not come.
func (p *Process) ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, startTimeout)
	defer stop()
	select {
	case <-p.hello:
		return nil
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		<-p.done
		return fmt.Errorf("worker: %s is not ready: %w", p.name, context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	why := p.cmd.ProcessState.String()
	if p.protocol != nil {
		why = p.protocol.Error()
	}
	if said := p.words.tail(); len(said) > 0 {
		why += "; it said: " + strings.Join(said, " | ")
	}
	return fmt.Errorf("worker: %s did not start: %s", p.name, why)
}

// About is what the child said of itself when it started.
func (p *Process) About() []byte { return p.about }

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

func (p *Process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Done is closed when the child is gone and reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Close ends the child: it is asked first, by closing the parent's half of the
// socket, and killed if it does not listen. Calls in flight get ErrClosed.
func (p *Process) Close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	_ = p.conn.CloseWrite() // fails only if the child is gone already
	timer := time.AfterFunc(grace, p.kill)
	defer timer.Stop()
	<-p.done
	return nil
}

// kill ends the child at once; finish does the rest.
func (p *Process) kill() { _ = p.cmd.Process.Kill() } // fails only if it is gone

// giveUp kills a child that does not keep to the protocol.
func (p *Process) giveUp(why error) {
	p.mu.Lock()
	if p.protocol == nil {
		p.protocol = why
	}
	p.mu.Unlock()
	p.kill()
}
