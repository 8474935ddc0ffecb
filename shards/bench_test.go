//go:build cgo && linux && !nohdf5

package shards

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/melforge/melforge/mel"
)

// load is a shard of clips of five seconds, 80 mels: 80 MB packed, and as much
// padded.
const (
	loadFrames = 500
	loadMels   = 80
	loadPadded = 3000
	loadBytes  = 80_000_000
)

// loads are the sample and the clip that is each of its rows.
func loads(padded int) (sample, mel.Mel) {
	s := sample{config: `{"n_mels":80}`, nMels: loadMels, padded: padded}
	row := max(padded, loadFrames)
	for i := range loadBytes / (row * loadMels * valueSize) {
		s.keys = append(s.keys, fmt.Sprintf("%064x", i))
		s.frames = append(s.frames, loadFrames)
		s.texts = append(s.texts, "The last ferry leaves at nine.")
	}
	m := mel.Mel{Frames: make([]uint16, loadFrames*loadMels), N: loadFrames, NMels: loadMels}
	for i := range m.Frames {
		m.Frames[i] = uint16(i * 31)
	}
	return s, m
}

// rounds times a and b in turns, changing which comes first, and reports the
// median of b's time as a share of a's: 1 is as fast as b.
func rounds(b *testing.B, name string, ours, plain func()) {
	b.Helper()
	var ratios []float64
	timed := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	ours() // to warm up
	plain()
	for b.Loop() {
		var mine, other time.Duration
		if len(ratios)%2 == 0 {
			mine = timed(ours)
			other = timed(plain)
		} else {
			other = timed(plain)
			mine = timed(ours)
		}
		ratios = append(ratios, other.Seconds()/mine.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], name)
	b.ReportMetric(0, "ns/op") // of both together it says nothing
}

// BenchmarkWrite compares with a file of the same values by write(2), synced and
// renamed. The shard also gets its checksum, and its folder is synced.
func BenchmarkWrite(b *testing.B) {
	for _, padded := range []int{0, loadPadded} {
		s, m := loads(padded)
		b.Run(layoutName(padded), func(b *testing.B) {
			dir := b.TempDir()
			values := m.Frames
			if padded > 0 {
				values = m.Padded(nil, padded)
			}
			rounds(b, "xwrite", func() { writeLoad(b, filepath.Join(dir, "shard.h5"), s, m) },
				func() { writePlain(b, filepath.Join(dir, "plain"), bytesOf(values), len(s.keys)) })
		})
	}
}

func layoutName(padded int) string { return (&layout{padded: padded}).kind().String() }

func writeLoad(b *testing.B, path string, s sample, m mel.Mel) {
	w, err := s.create(path)
	if err != nil {
		b.Fatal(err)
	}
	for row := range s.keys {
		if err := w.Put(row, m); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Commit(); err != nil {
		b.Fatal(err)
	}
}

func writePlain(b *testing.B, path string, row []byte, rows int) {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		b.Fatal(err)
	}
	for range rows {
		if _, err := f.Write(row); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead compares with pread(2) of the same rows into one buffer, in
// random order: Read, which makes a new buffer each time, ReadInto, which does
// not, and ReadPadded, which gives a padded clip as it lies in the file.
func BenchmarkRead(b *testing.B) {
	for _, padded := range []int{0, loadPadded} {
		s, m := loads(padded)
		b.Run(layoutName(padded), func(b *testing.B) { benchmarkRead(b, s, m) })
	}
}

func benchmarkRead(b *testing.B, s sample, m mel.Mel) {
	path := filepath.Join(b.TempDir(), "a.h5")
	writeLoad(b, path, s, m)
	r := open(b, path)
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	size := int(r.l.at(1))
	order := rand.Perm(r.Len())
	order = order[:min(len(order), 200)]
	all := func(read func(row int) error) func() {
		return func() {
			for _, row := range order {
				if err := read(row); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	plain := make([]byte, size)
	pread := all(func(row int) error {
		_, err := f.ReadAt(plain, r.MelOffset()+int64(row*size))
		return err
	})
	dst := make([]uint16, max(loadFrames, s.padded)*loadMels)
	reads := map[string]func(int) error{
		"Read":     func(row int) error { _, err := r.Read(row); return err },
		"ReadInto": func(row int) error { _, err := r.ReadInto(row, dst); return err },
	}
	if s.padded > 0 {
		reads["ReadPadded"] = func(row int) error { _, err := r.ReadPadded(row, s.padded, dst); return err }
	}
	for name, read := range reads {
		b.Run(name, func(b *testing.B) { rounds(b, "xpread", all(read), pread) })
	}
}

// BenchmarkPad compares the transposition of a clip with its readable twin.
func BenchmarkPad(b *testing.B) {
	_, m := loads(loadPadded)
	dst, twin := make([]uint16, loadPadded*loadMels), make([]uint16, loadPadded*loadMels)
	rounds(b, "xtwin", func() { pad(dst, m, loadPadded) }, func() { m.Padded(twin, loadPadded) })
	if !slices.Equal(dst, twin) {
		b.Fatal("they differ")
	}
}
