package trainer

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"
	"unsafe"
)

// The load: clips of three seconds, which have 302 frames, in shards as the
// pipeline makes them. The files are in the page cache, where reading costs
// most of the processor.
const (
	loadClips  = 2048
	loadFrames = 302
)

func load(b *testing.B, batch int) (*Dataset, *peer) {
	f := newFolder(b)
	f.size = 512
	frames := make([]int, loadClips)
	for i := range frames {
		frames[i] = loadFrames
	}
	f.add(frames...)
	d := f.open(Options{})
	return d, newPeer(b, d, batch)
}

// peer is what is compared with: pread of the stored bytes, from files that are
// open already, into an array of as many clips as ours has. It transposes and
// converts nothing, so it is a bound and no loader.
type peer struct {
	files   []*os.File
	version *version
	clip    int // bytes
	array   []byte
}

func newPeer(b *testing.B, d *Dataset, batch int) *peer {
	p := &peer{version: d.now.Load(), clip: loadFrames * d.Mel().NMels * 2}
	p.array = make([]byte, batch*p.clip)
	for _, s := range p.version.shards {
		check(b, s.open())
		f, err := os.Open(s.path)
		check(b, err)
		b.Cleanup(func() { f.Close() })
		p.files = append(p.files, f)
	}
	return p
}

// pread reads clip i to place k of the array.
func (p *peer) pread(b *testing.B, i, k int) {
	dst := p.array[k*p.clip%len(p.array):][:p.clip]
	at := p.version.lines.places[i]
	s := p.version.shards[at.shard]
	if _, err := p.files[at.shard].ReadAt(dst, s.record.MelOffset+s.starts[at.row]*int64(s.record.NMels)*2); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads clips in random order, each with its transposition to
// [n_mels, frames], and reports how many times as fast as plain pread that is.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name string
		half bool
	}{{"Half", true}, {"Float", false}} {
		b.Run(c.name, func(b *testing.B) {
			d, p := load(b, 1)
			size := loadFrames * d.Mel().NMels
			floats, halves := make([]float32, size), make([]uint16, size)
			compare(b, p, func(order []int) {
				for _, i := range order {
					var err error
					if c.half {
						err = d.ReadHalf(halves, i, loadFrames)
					} else {
						err = d.Read(floats, i, loadFrames)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// compare times rounds of read and of pread in turn, over the same clips.
func compare(b *testing.B, p *peer, read func(order []int)) {
	var ours, plain time.Duration
	b.SetBytes(loadClips * int64(p.clip))
	b.ReportAllocs()
	for b.Loop() {
		order := rand.Perm(loadClips)
		start := time.Now()
		read(order)
		ours += time.Since(start)
		b.StopTimer()
		start = time.Now()
		for k, i := range order {
			p.pread(b, i, k)
		}
		plain += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(plain.Seconds()/ours.Seconds(), "xpread")
}

// BenchmarkLoader gives epochs of batches of 64 and compares them with pread by
// one thread; with one worker that is like for like. Float writes twice the bytes
// that pread copies, Reference, which pads to 3000 frames, ten or twenty times.
func BenchmarkLoader(b *testing.B) {
	masks := DefaultSpecAugment()
	for _, c := range []struct {
		name string
		opts LoaderOptions
	}{
		{"HalfOne", LoaderOptions{Half: true, Workers: 1}},
		{"Half", LoaderOptions{Half: true}},
		{"HalfMasked", LoaderOptions{Half: true, Augment: &masks}},
		{"FloatOne", LoaderOptions{Workers: 1}},
		{"Float", LoaderOptions{}},
		{"ReferenceHalf", LoaderOptions{Half: true, Frames: 3000}},
		{"Reference", LoaderOptions{Frames: 3000}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, p := load(b, 64)
			c.opts.Batch, c.opts.Fixed = 64, true
			l, err := NewLoader(d, c.opts)
			check(b, err)
			defer l.Close()
			drain(b, l) // the memory of batches is allocated now
			compare(b, p, func([]int) { drain(b, l) })
		})
	}
}

func drain(b *testing.B, l *Loader) {
	for {
		batch, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return
		}
		check(b, err)
		batch.Release()
	}
}

// BenchmarkTranspose compares the transposition of a clip in the cache with
// its readable twin.
func BenchmarkTranspose(b *testing.B) {
	m := drawn(newFolder(b).cfg, 1, loadFrames)
	b.Run("Half", func(b *testing.B) { benchmarkTranspose[uint16](b, m.Frames, m.NMels) })
	b.Run("Float", func(b *testing.B) { benchmarkTranspose[float32](b, m.Frames, m.NMels) })
}

func benchmarkTranspose[T value](b *testing.B, src []uint16, mels int) {
	dst := make([]T, len(src))
	var fast, plain time.Duration
	b.SetBytes(int64(len(src)) * int64(2+unsafe.Sizeof(dst[0])))
	for b.Loop() {
		start := time.Now()
		transpose(dst, loadFrames, src, loadFrames, mels)
		fast += time.Since(start)
		b.StopTimer()
		start = time.Now()
		transposePlain(dst, loadFrames, src, loadFrames, mels)
		plain += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(plain.Seconds()/fast.Seconds(), "xplain")
}
