package shards

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/melforge/melforge/mel"
)

// load is a shard of clips of five seconds, 80 mels.
const (
	loadClips  = 1000
	loadFrames = 500
	loadMels   = 80
)

func loadSample() (sample, mel.Mel) {
	s := sample{config: `{"n_mels":80}`, nMels: loadMels}
	for i := range loadClips {
		s.keys = append(s.keys, fmt.Sprintf("%064x", i))
		s.frames = append(s.frames, loadFrames)
	}
	m := mel.Mel{Frames: make([]uint16, loadFrames*loadMels), N: loadFrames, NMels: loadMels}
	for i := range m.Frames {
		m.Frames[i] = uint16(i * 31)
	}
	return s, m
}

// BenchmarkWrite reports the time of a plain file of the same frames, written
// and synced, as a share of the shard's: 1 is as fast as plain.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	s, m := loadSample()
	b.SetBytes(loadClips * loadFrames * loadMels * valueSize)
	var shard, plain time.Duration
	for b.Loop() {
		start := time.Now()
		w, err := create(filepath.Join(dir, "shard.h5"), s.config, s.nMels, s.keys, s.frames)
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
		shard += time.Since(start)

		b.StopTimer()
		start = time.Now()
		writePlain(b, filepath.Join(dir, "plain"), m)
		plain += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(plain.Seconds()/shard.Seconds(), "xplain")
}

func writePlain(b *testing.B, path string, m mel.Mel) {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		b.Fatal(err)
	}
	for range loadClips {
		if _, err := f.Write(bytesOf(m.Frames)); err != nil {
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

// BenchmarkRead reports the time of plain reads of the same bytes into one
// buffer as a share of the Reader's, for Read, which makes a new buffer each time,
// and ReadInto, which does not.
func BenchmarkRead(b *testing.B) {
	b.Run("Read", func(b *testing.B) { benchmarkRead(b, nil) })
	b.Run("ReadInto", func(b *testing.B) { benchmarkRead(b, make([]uint16, loadFrames*loadMels)) })
}

func benchmarkRead(b *testing.B, dst []uint16) {
	path := filepath.Join(b.TempDir(), "a.h5")
	s, m := loadSample()
	w, err := create(path, s.config, s.nMels, s.keys, s.frames)
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
	r := open(b, path)
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()

	const batch = 200
	buf := bytesOf(m.Frames)
	b.SetBytes(batch * int64(len(buf)))
	var read, plain time.Duration
	for b.Loop() {
		order := rand.Perm(loadClips)[:batch]
		start := time.Now()
		for _, row := range order {
			if _, err := r.ReadInto(row, dst); err != nil {
				b.Fatal(err)
			}
		}
		read += time.Since(start)

		b.StopTimer()
		start = time.Now()
		for _, row := range order {
			if _, err := f.ReadAt(buf, r.MelOffset()+int64(row*len(buf))); err != nil {
				b.Fatal(err)
			}
		}
		plain += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(plain.Seconds()/read.Seconds(), "xplain")
}
