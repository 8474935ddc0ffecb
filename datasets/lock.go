package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Lock keeps a second writer out of a folder. The kernel drops it when the
// process ends, however it ends.
type Lock struct{ f *os.File }

// Lock takes the folder for writing, or says who has it.
func (f Folder) Lock() (*Lock, error) {
	path := filepath.Join(f.dir, workDir, "lock")
	l, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot write to %s: %w", f.dir, err)
	}
	if holder, err := flock(l); err != nil {
		err = fmt.Errorf("another melforge (%s) is working on %s: wait for it, or stop it, and run again", holder, f.dir)
		return nil, errors.Join(err, l.Close())
	}
	// Who holds it is only for the message above: failing to say so is no reason to stop.
	if l.Truncate(0) == nil {
		_, _ = fmt.Fprintf(l, "process %d\n", os.Getpid())
	}
	return &Lock{l}, nil
}

// lingers is how long a lock may outlive its holder.
const lingers = 5 * time.Second

// flock takes the lock, or says who has it. A process that was killed while it
// started another leaves the lock with that one until it has become its own
// program: a moment, in which nobody works on the folder.
func flock(l *os.File) (holder string, err error) {
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = unix.Flock(int(l.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return "", nil
		}
		who, _ := os.ReadFile(l.Name())
		holder = strings.TrimSpace(string(who))
		var pid int
		if _, scan := fmt.Sscanf(holder, "process %d", &pid); scan != nil || time.Since(begin) > lingers {
			return holder, err
		}
		if !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return holder, err
		}
	}
}

// Unlock gives the folder back.
func (l *Lock) Unlock() error { return l.f.Close() }
