package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	if err := unix.Flock(int(l.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		err = fmt.Errorf("another melforge (%s) is working on %s: wait for it, or stop it, and run again",
			strings.TrimSpace(string(holder)), f.dir)
		return nil, errors.Join(err, l.Close())
	}
	// Who holds it is only for the message above: failing to say so is no reason to stop.
	if l.Truncate(0) == nil {
		_, _ = fmt.Fprintf(l, "process %d\n", os.Getpid())
	}
	return &Lock{l}, nil
}

// Unlock gives the folder back.
func (l *Lock) Unlock() error { return l.f.Close() }
