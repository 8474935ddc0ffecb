// Package commit makes files appear whole or not at all.
//
// A commit is: a temporary file beside the target, synced, closed with its
// error checked, renamed over the target, and the folder synced. A process
// killed at any moment leaves either the old file or the new one, plus at most
// a temporary file, which the next attempt overwrites.
package commit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// prefix marks temporary files, so that a collection of garbage knows them.
const prefix = ".tmp-"

// Temp is the temporary name that belongs to path. It is deterministic: a
// second attempt at the same file overwrites the remains of the first.
func Temp(path string) string {
	return filepath.Join(filepath.Dir(path), prefix+filepath.Base(path))
}

// IsTemp reports whether name is that of a temporary file of this package.
func IsTemp(name string) bool { return strings.HasPrefix(filepath.Base(name), prefix) }

// File writes a file through fill and commits it under path. The point names
// this kind of commit for Reach, as in "manifest".
func File(point, path string, fill func(io.Writer) error) (err error) {
	tmp := Temp(path)
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(os.Remove(tmp)))
		}
	}()
	if err := fill(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return Rename(point, path)
}

// Rename commits the temporary file of path, which must be synced and closed,
// and syncs the folder.
func Rename(point, path string) error {
	if err := Place(point, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Place is Rename without syncing the folder, for many files in few folders:
// the caller syncs each folder once, before anything names those files.
func Place(point, path string) error { return Adopt(point, Temp(path), path) }

// Adopt is Place for a synced and closed file of another name on the same file
// system, for targets whose name depends on their content.
func Adopt(point, from, path string) error {
	Reach(point + ".before-rename")
	if err := os.Rename(from, path); err != nil {
		return err
	}
	Reach(point + ".after-rename")
	return nil
}

// SyncFile flushes a closed file to disk.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDir flushes a folder's entries to disk.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

var hook atomic.Pointer[func(point string)]

// OnReach installs a function that is called at every commit point by name.
// Crash tests use it to kill the process there; nil removes it.
func OnReach(f func(point string)) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}

// Reach tells the hook, if there is one, that a commit point was reached.
func Reach(point string) {
	if f := hook.Load(); f != nil {
		(*f)(point)
	}
}
