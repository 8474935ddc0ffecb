// Package espeakdata finds and fingerprints espeak-ng's data folder, on which
// both the espeak-ng command and the Piper voices depend.
package espeakdata

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Find returns the first folder that holds espeak-ng's data: those given, in
// their order, then where distributions put it.
func Find(dirs ...string) (string, error) {
	for _, pattern := range []string{"/usr/lib/*/espeak-ng-data", "/usr/lib/espeak-ng-data", "/usr/share/espeak-ng-data", "/usr/local/share/espeak-ng-data"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if Check(dir) == nil {
			return dir, nil
		}
	}
	return "", errors.New("no espeak-ng-data folder found: install it (apt-get install espeak-ng-data) or name one")
}

// Check returns an error if dir does not hold espeak-ng's data.
func Check(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "phontab")); err != nil {
		return fmt.Errorf("no espeak-ng data in %s: %w", dir, err)
	}
	return nil
}

// Hash is the SHA-256 of everything in the folder: paths and contents, in
// order. One language's words can be spoken by another's rules, so no file can
// be left out.
func Hash(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\x00%d\x00", filepath.ToSlash(rel), info.Size())
		return copyFile(sum, path)
	})
	if err != nil {
		return "", fmt.Errorf("hash espeak-ng data: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
