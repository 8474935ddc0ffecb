//go:build cgo && linux && !nohdf5

package shards

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/mel"
)

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path   string
		nMels  int
		keys   []string
		frames []int
		want   string
		padded int
		texts  []string
	}{
		"no path":        {"", 2, []string{"a"}, []int{1}, "no path", 0, nil},
		"no clips":       {"a.h5", 2, nil, nil, "no clips", 0, nil},
		"counts":         {"a.h5", 2, []string{"a", "b"}, []int{1}, "2 keys but 1 frame counts", 0, nil},
		"no mels":        {"a.h5", 0, []string{"a"}, []int{1}, "0 mels", 0, nil},
		"negative":       {"a.h5", 2, []string{"a"}, []int{-1}, "-1 frames", 0, nil},
		"overflow":       {"a.h5", 80, []string{"a", "b"}, []int{1 << 54, 1 << 62}, "clip 1 (b)", 0, nil},
		"empty key":      {"a.h5", 2, []string{""}, []int{1}, "key is empty", 0, nil},
		"key not UTF-8":  {"a.h5", 2, []string{"\xff"}, []int{1}, "not UTF-8", 0, nil},
		"key with zero":  {"a.h5", 2, []string{"a\x00b"}, []int{1}, "zero byte", 0, nil},
		"missing folder": {"none/a.h5", 2, []string{"a"}, []int{1}, "no such file or directory", 0, nil},
		"folder":         {".", 2, []string{"a"}, []int{1}, "a folder has this name", 0, nil},
		"file as folder": {"file/a.h5", 2, []string{"a"}, []int{1}, "not a directory", 0, nil},
		"too long":       {"a.h5", 2, []string{"a"}, []int{41}, "41 frames do not fit in the 40", 40, []string{""}},
		"no text":        {"a.h5", 2, []string{"a"}, []int{1}, "1 keys but 0 texts", 40, nil},
		"text not UTF-8": {"a.h5", 2, []string{"a"}, []int{1}, "not UTF-8", 40, []string{"\xff"}},
		"padded far":     {"a.h5", 2, []string{"a"}, []int{1}, "at most", 1 << 30, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path
			if path != "" {
				path = filepath.Join(dir, path)
			}
			_, err := create(path, layout{config: "{}", nMels: c.nMels, keys: c.keys, padded: c.padded, texts: c.texts}, c.frames)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("got %v, want %q and the path", err, c.want)
			}
		})
	}
	wantFiles(t, dir, "file")
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("files %q, want %q", got, want)
	}
}

func TestPutRefuses(t *testing.T) {
	s := small()
	wrong := func(change func(*mel.Mel)) mel.Mel {
		m := s.mel(0)
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		row  int
		m    mel.Mel
		want string
	}{
		"row -1":      {-1, s.mel(0), "row -1 of 4"},
		"row 4":       {4, s.mel(0), "row 4 of 4"},
		"twice":       {3, s.mel(3), "row 3 (last) came twice"},
		"frames":      {1, s.mel(0), "want 30 x 80"},
		"mels":        {0, wrong(func(m *mel.Mel) { m.NMels = 81 }), "want 7 x 80"},
		"values":      {0, wrong(func(m *mel.Mel) { m.Frames = m.Frames[1:] }), "559 values"},
		"many values": {0, wrong(func(m *mel.Mel) { m.Frames = append(m.Frames, 0) }), "561 values"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.h5")
			w, err := s.create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Put(3, s.mel(3)); err != nil {
				t.Fatal(err)
			}
			first := w.Put(c.row, c.m)
			if first == nil || !strings.Contains(first.Error(), c.want) || !strings.Contains(first.Error(), path) {
				t.Fatalf("got %v, want %q", first, c.want)
			}
			if err := w.Put(1, s.mel(1)); err != first {
				t.Fatalf("after an error Put gave %v", err)
			}
			if _, err := w.Commit(); !errors.Is(err, first) {
				t.Fatalf("after an error Commit gave %v", err)
			}
			wantFiles(t, dir)
		})
	}
}

func TestCommitWantsEveryRow(t *testing.T) {
	dir := t.TempDir()
	s := small()
	w, err := s.create(filepath.Join(dir, "a.h5"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(1, s.mel(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), "3 of 4 clips are missing") {
		t.Fatal(err)
	}
	wantFiles(t, dir)
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.h5")
	s := small()
	w, err := s.create(path)
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, filepath.Base(commit.Temp(path)))
	for range 2 {
		if err := w.Abort(); err != nil {
			t.Fatal(err)
		}
	}
	wantFiles(t, dir)
	if err := w.Put(0, s.mel(0)); !errors.Is(err, errDone) {
		t.Fatalf("Put after Abort: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, errDone) {
		t.Fatalf("Commit after Abort: %v", err)
	}
}

func TestAfterCommit(t *testing.T) {
	dir := t.TempDir()
	s := small()
	path := filepath.Join(dir, "a.h5")
	w, err := s.create(path)
	if err != nil {
		t.Fatal(err)
	}
	for row := range s.keys {
		if err := w.Put(row, s.mel(row)); err != nil {
			t.Fatal(err)
		}
	}
	record, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := w.Put(0, s.mel(0)); !errors.Is(err, errDone) {
		t.Fatalf("Put after Commit: %v", err)
	}
	if _, err := w.Commit(); !errors.Is(err, errDone) {
		t.Fatalf("second Commit: %v", err)
	}
	wantFiles(t, dir, "a.h5")
	if err := Check(path, record); err != nil {
		t.Fatal(err)
	}
}

func TestCommitReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	for _, remains := range []string{path, commit.Temp(path)} {
		if err := os.WriteFile(remains, make([]byte, 1<<20), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := small()
	if err := Check(path, s.write(t, path, anyOrder(4), false)); err != nil {
		t.Fatal(err)
	}
	s.check(t, open(t, path))
}

// TestNothingStaysOpen counts the process's files: libhdf5 keeps a file open as
// long as anything in it is.
func TestNothingStaysOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts files in /proc")
	}
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	dir := t.TempDir()
	s := small()
	before := count()
	for range 50 {
		path := filepath.Join(dir, "a.h5")
		s.write(t, path, anyOrder(4), false)
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open("testdata"); err == nil {
			t.Fatal("opened a folder")
		}
	}
	if after := count(); after != before {
		t.Fatalf("%d files are open, %d were", after, before)
	}
}

// smallDisk is a folder with room for that much. At the end nothing may be open
// in it.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small disk (%v): run as root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("something is still open: %v", err)
		}
	})
	return dir
}

// TestDiskFull fills disks of sizes that fail in libhdf5 and in Put.
func TestDiskFull(t *testing.T) {
	big := small()
	big.frames[1] = 20_000
	for _, size := range []string{"4k", "8k", "12k", "64k", "1m"} {
		t.Run(size, func(t *testing.T) {
			dir := smallDisk(t, size)
			w, err := big.create(filepath.Join(dir, "a.h5"))
			if err == nil {
				for row := 0; err == nil; row++ {
					err = w.Put(row, big.mel(row))
				}
				if _, second := w.Commit(); second == nil {
					t.Error("committed")
				}
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v, want no space left", err)
			}
			wantFiles(t, dir)
		})
	}
	s := small() // libhdf5 must be in order after all this
	s.write(t, filepath.Join(t.TempDir(), "a.h5"), anyOrder(4), false)
}

// TestBeyondFourGigabytes checks the shape only: the file is one large hole.
func TestBeyondFourGigabytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	w, err := create(path, layout{config: `{"n_mels":128}`, nMels: 128, keys: []string{"a", "b"}}, []int{30_000_000, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	m := mel.Mel{Frames: make([]uint16, 128), N: 1, NMels: 128}
	m.Frames[127] = 0x3c00
	if err := w.Put(1, m); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, commit.Temp(path)).Read(1)
	if err != nil || got.Frames[127] != 0x3c00 {
		t.Fatal(got, err)
	}
}
