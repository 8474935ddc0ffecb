package tts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxAudio is the longest sound, in seconds, that is taken from a command.
const maxAudio = 600

// command is a program run for one utterance.
type command struct {
	path      string
	args      []string
	stdin     string
	timeout   time.Duration
	maxOutput int
	dir       string // to run in; "": here
	maxFile   uint64 // bytes of a file that it may write; 0: no limit
	anyExit   bool   // its exit status means nothing if it wrote something
}

// run returns what the command writes. That it crashes, hangs or never stops
// writing is a Refusal: it was given one utterance, so that one is guilty. A
// crash counts from the second time on, since the kernel may have killed it
// for memory that others took.
func (c command) run(ctx context.Context) ([]byte, error) {
	out, err := c.once(ctx)
	var r *Refusal
	if errors.As(err, &r) && r.Reason == ReasonEngineDied {
		return c.once(ctx)
	}
	return out, err
}

func (c command) once(ctx context.Context) ([]byte, error) {
	timed, stop := context.WithTimeout(ctx, c.timeout)
	defer stop()
	name := filepath.Base(c.path)
	// One that writes too much is stopped at once; a script may well not
	// notice that nobody reads.
	out, words := capped{max: c.maxOutput, onFull: stop}, capped{max: 4096}
	cmd := exec.CommandContext(timed, c.path, c.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), &out, &words
	// A group of its own, so that whatever it started goes with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	cmd.Dir = c.dir
	err := c.start(cmd)
	if err == nil {
		err = cmd.Wait()
		// Whatever it left behind in its group goes too.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.full:
		return nil, refuse(ReasonAudioTooLong, "%s wrote more than %d bytes", name, c.maxOutput)
	case timed.Err() != nil:
		return nil, refuse(ReasonEngineTimeout, "%s took longer than %v", name, c.timeout)
	case err == nil, c.anyExit && errors.As(err, &exit) && exit.Exited() && out.b.Len() > 0:
		return out.b.Bytes(), nil
	case errors.As(err, &exit) && signal(exit) == syscall.SIGXFSZ:
		return nil, refuse(ReasonAudioTooLong, "%s wrote a file of more than %d bytes", name, c.maxFile)
	case errors.As(err, &exit) && !exit.Exited():
		return nil, refuse(ReasonEngineDied, "%s: %v", name, exit)
	}
	return nil, fmt.Errorf("%s: %w; it said: %q", name, err, words.b.String())
}

// start starts the command and limits the files it writes.
func (c command) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil || c.maxFile == 0 {
		return err
	}
	limit := unix.Rlimit{Cur: c.maxFile, Max: c.maxFile}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		return errors.Join(fmt.Errorf("limit its files: %w", err), cmd.Cancel(), cmd.Wait())
	}
	return nil
}

func signal(exit *exec.ExitError) syscall.Signal {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

// capped keeps the first max bytes and fails afterwards.
type capped struct {
	b      bytes.Buffer
	max    int
	full   bool
	onFull func() // may be nil
}

var errCapped = errors.New("too much output")

// Write implements io.Writer.
func (c *capped) Write(p []byte) (int, error) {
	if room := c.max - c.b.Len(); len(p) > room {
		c.full = true
		if c.onFull != nil {
			c.onFull()
		}
		n, _ := c.b.Write(p[:room]) // a Buffer does not fail
		return n, errCapped
	}
	return c.b.Write(p)
}
