//go:build cgo && linux && !nohdf5

package shards

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// many is a sample of n clips of up to most frames, some of them without any.
func many(r *rand.Rand, n, most int) sample {
	s := sample{config: `{"n_mels":8}`, nMels: 8}
	for i := range n {
		s.keys = append(s.keys, fmt.Sprintf("%064x", i))
		s.frames = append(s.frames, r.IntN(most+1))
		s.texts = append(s.texts, strings.Repeat("x", r.IntN(90)))
	}
	return s
}

// only is the sample of some of its rows.
func (s sample) only(rows []int) sample {
	some := s
	some.keys, some.frames, some.texts = nil, nil, nil
	for _, row := range rows {
		some.keys, some.frames = append(some.keys, s.keys[row]), append(some.frames, s.frames[row])
		if s.texts != nil {
			some.texts = append(some.texts, s.texts[row])
		}
	}
	return some
}

// TestKeep wants the bytes of a shard that never had the other rows, whether they
// were put or not, and those that are kept put before or after. Where hardly a frame is left the head grows, and rows move up.
func TestKeep(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	dir := t.TempDir()
	grown := 0
	for round := range 150 {
		s := many(r, 1+r.IntN(400), []int{0, 1, 2, 40}[round%4])
		if round%3 == 0 {
			s.padded = 40
		} else {
			s.texts = nil
		}
		share := []float64{0, 0.02, 0.5, 0.98}[r.IntN(4)]
		var rows []int
		for row := range s.keys {
			if r.Float64() >= share {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		grown += s.keep(t, dir, rows, r)
	}
	if grown == 0 {
		t.Error("no head grew: the rounds do not try what they are to try")
	}
}

// keep compares a shard of which rows are kept with one of these rows, and
// returns 1 where its frames begin later than before.
func (s sample) keep(t *testing.T, dir string, rows []int, r *rand.Rand) (grown int) {
	t.Helper()
	some := s.only(rows)
	want, err := some.create(filepath.Join(dir, "want.h5"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.create(filepath.Join(dir, "got.h5"))
	if err != nil {
		t.Fatal(err)
	}
	later := map[int]bool{}
	for i, row := range rows {
		later[i] = r.IntN(3) == 0
		if err := want.Put(i, s.mel(row)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range r.Perm(len(s.keys)) {
		if i, kept := slices.BinarySearch(rows, row); kept && later[i] || !kept && r.IntN(2) == 0 {
			continue
		}
		if err := got.Put(row, s.mel(row)); err != nil {
			t.Fatal(err)
		}
	}
	if got.h.mel < want.h.mel {
		grown = 1
	}
	if err := got.Keep(rows); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if later[i] {
			if err := got.Put(i, s.mel(row)); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, err := want.Commit()
	if err != nil {
		t.Fatal(err)
	}
	second, err := got.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if second.File = first.File; second != first {
		t.Fatalf("%d of %d rows: %+v, want %+v", len(rows), len(s.keys), second, first)
	}
	a, _ := os.ReadFile(filepath.Join(dir, "want.h5"))
	b, _ := os.ReadFile(filepath.Join(dir, "got.h5"))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Fatalf("%d of %d rows, padded to %d: the bytes differ", len(rows), len(s.keys), s.padded)
	}
	wantFiles(t, dir, "got.h5", "want.h5")
	return grown
}

func TestKeepRefuses(t *testing.T) {
	s := small()
	for name, c := range map[string]struct {
		rows []int
		want string
	}{
		"none":       {nil, "no clips"},
		"descending": {[]int{2, 1}, "row 1 after row 2"},
		"twice":      {[]int{1, 1}, "row 1 after row 1"},
		"unknown":    {[]int{0, 4}, "row 4 after row 0 of 4"},
		"negative":   {[]int{-1}, "row -1"},
	} {
		dir := t.TempDir()
		w, err := s.create(filepath.Join(dir, "a.h5"))
		if err != nil {
			t.Fatal(err)
		}
		first := w.Keep(c.rows)
		if first == nil || !strings.Contains(first.Error(), c.want) || !strings.Contains(first.Error(), dir) {
			t.Errorf("%s: got %v, want %q", name, first, c.want)
		}
		if err := w.Put(0, s.mel(0)); err != first {
			t.Errorf("%s: after an error Put gave %v", name, err)
		}
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
		wantFiles(t, dir)
	}
}

// TestKeepWantsRows refuses a shard of which a row that is kept never came.
func TestKeepWantsRows(t *testing.T) {
	s := small()
	w, err := s.create(filepath.Join(t.TempDir(), "a.h5"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(1, s.mel(1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Keep([]int{1, 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), "1 of 2 clips are missing") {
		t.Errorf("committed with %v", err)
	}
}

// TestKeepOnFullDisk leaves rows out where there is no more room on the disk.
func TestKeepOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "256k")
	s := small()
	s.frames = []int{400, 400, 400, 100}
	w, err := s.create(filepath.Join(dir, "a.h5"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{0, 1, 3} {
		if err := w.Put(row, s.mel(row)); err != nil {
			t.Fatal(err)
		}
	}
	fillDisk(t, filepath.Join(dir, "rest"))
	if err := w.Keep([]int{1, 3}); err != nil {
		t.Fatal(err)
	}
	record, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(filepath.Join(dir, "a.h5"), record); err != nil {
		t.Fatal(err)
	}
}

// fillDisk writes a file until there is no more room.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
