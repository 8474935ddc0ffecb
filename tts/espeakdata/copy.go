package espeakdata

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy puts a copy of the data in src at dst, which must not be there yet, for
// a distribution that carries it. It has the hash of the original, so a voice
// speaks, and is cached, as with that.
func Copy(dst, src string) error {
	if err := Check(src); err != nil {
		return err
	}
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy espeak-ng data: %s is there already", dst)
	}
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		return errors.Join(copyFile(f, path), f.Close())
	})
	if err != nil {
		return fmt.Errorf("copy espeak-ng data: %w", err)
	}
	return nil
}
