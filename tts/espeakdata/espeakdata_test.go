package espeakdata

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFindTakesTheFirst(t *testing.T) {
	empty, full := t.TempDir(), t.TempDir()
	write(t, filepath.Join(full, "phontab"), "x")
	if got, err := Find("", empty, full); err != nil || got != full {
		t.Errorf("Find = %q, %v; want %q", got, err, full)
	}
	if err := Check(empty); err == nil {
		t.Error("an empty folder passed")
	}
}

func TestHashSeesEveryChange(t *testing.T) {
	dir := t.TempDir()
	seen := make(map[string]string)
	look := func(what string) {
		t.Helper()
		h, err := Hash(dir)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", what, before)
		}
		seen[h] = what
	}
	look("nothing")
	write(t, filepath.Join(dir, "phontab"), "ab")
	look("a file")
	write(t, filepath.Join(dir, "phontab"), "ac")
	look("another content")
	write(t, filepath.Join(dir, "lang", "en"), "")
	look("an empty file more")
	if err := os.Rename(filepath.Join(dir, "lang", "en"), filepath.Join(dir, "lang", "de")); err != nil {
		t.Fatal(err)
	}
	look("another name")
	if _, err := Hash(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has a hash")
	}
}

func TestCopyHasTheSameHash(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "share", "espeak-ng-data")
	if err := Copy(dst, src); err == nil {
		t.Error("a folder without data was copied")
	}
	write(t, filepath.Join(src, "phontab"), "ab")
	write(t, filepath.Join(src, "lang", "gmw", "en"), "english")
	if err := os.Symlink("phontab", filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	if err := Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	want, errWant := Hash(src)
	got, err := Hash(dst)
	if err != nil || errWant != nil || got != want {
		t.Errorf("the copy is %s, %v; the original %s, %v", got, err, want, errWant)
	}
	if err := Copy(dst, src); err == nil {
		t.Error("a copy was overwritten")
	}
}
