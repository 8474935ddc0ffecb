package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// Report is what a benchmark measured, all in one run and on one device, with
// clips of the longest length. Rates are in clips a second.
type Report struct {
	Device     string        `json:"device"`
	Tuning     string        `json:"tuning"`
	FirstFrame float64       `json:"first_frame"` // seconds from nothing to the first frames: probe, start, kernels, one clip
	Rates      wire.Rates    `json:"rates"`       // of the worker by itself
	OfBus      float64       `json:"of_bus"`      // its host-to-host rate over the bus's
	Protocol   Throughput    `json:"protocol"`    // through the engine, with samples that lie in the ring already
	Files      Throughput    `json:"files"`       // through the engine, with samples from wav files in the page cache
	Reading    float64       `json:"reading"`     // clips a second that the same callers read from those files into the ring, and no more
	OfReading  float64       `json:"of_reading"`  // the files' rate over the lower of that and the bus's
	OfDuplex   float64       `json:"of_duplex"`   // its host-to-host rate over what the same copies do both ways with no computing
	Overlap    float64       `json:"overlap"`     // time on the device's streams over the time that went by, host to host
	Busy       float64       `json:"busy"`        // share of the time that copy-in was under way, host to host
	Took       time.Duration `json:"took"`
}

// Throughput is a rate of the engine, and where its callers spent their time.
type Throughput struct {
	Clips  float64     `json:"clips"`   // a second
	OfBus  float64     `json:"of_bus"`  // over the bus's rate
	Read   float64     `json:"read"`    // seconds a second: reading samples
	Wait   float64     `json:"wait"`    // waiting for room and for the device
	Sink   float64     `json:"sink"`    // in the sink
	Device wire.Timing `json:"device"`  // on the device's streams, in all
	Took   float64     `json:"seconds"` // of the measurement
}

// Bench is what to measure with.
type Bench struct {
	Folder  string              // for the wav files, which are removed afterwards
	Seconds float64             // for each throughput; 0: 2
	Workers int                 // callers at a time; 0: 8 a core
	Readers int                 // of them that read a file at a time; 0: one a core
	Sink    func(mel.Mel) error // takes every mel, to measure a writer too; may be nil

	turns chan struct{} // of the readers: more than one a core keep each other from finishing
}

// files of the benchmark: more than a processor's cache holds.
const files = 512

// Run measures the engine of the options on its first device.
func (b Bench) Run(ctx context.Context, o Options, c mel.Config) (Report, error) {
	begin := time.Now()
	if b.Readers == 0 {
		b.Readers = runtime.GOMAXPROCS(0)
	}
	b.turns = make(chan struct{}, b.Readers)
	e, err := Open(ctx, o, c)
	if err != nil {
		return Report{}, err
	}
	r := Report{Device: e.rings[0].device.info.Name}
	err = b.measure(ctx, e, &r, begin)
	if err = errors.Join(err, e.Close()); err != nil {
		return r, err
	}
	d := e.rings[0].device
	r.Rates, err = measure(ctx, o, c, d.info, d.tuning)
	if err != nil {
		return r, err
	}
	r.OfBus, r.OfDuplex = r.Rates.HostToHost/r.Rates.Bus, r.Rates.HostToHost/r.Rates.Duplex
	r.Protocol.OfBus, r.Files.OfBus = r.Protocol.Clips/r.Rates.Bus, r.Files.Clips/r.Rates.Bus
	r.OfReading = r.Files.Clips / min(r.Reading, r.Rates.Bus)
	t := r.Rates.Timing
	r.Overlap, r.Busy = (t.In+t.Compute+t.Out).Seconds()/r.Rates.Elapsed, t.In.Seconds()/r.Rates.Elapsed
	r.Took = time.Since(begin)
	return r, nil
}

// measure takes the rates through the engine.
func (b Bench) measure(ctx context.Context, e *Engine, r *Report, begin time.Time) error {
	if err := b.one(ctx, e, nil, new(meter)); err != nil {
		return err
	}
	r.FirstFrame, r.Tuning = time.Since(begin).Seconds(), e.Describe()
	var err error
	if r.Protocol, err = b.throughput(ctx, e, nil); err != nil {
		return err
	}
	paths, err := b.wavs(e.cfg)
	if err == nil {
		r.Files, err = b.throughput(ctx, e, paths)
	}
	if err == nil {
		r.Reading, err = b.reading(e.rings[0], paths)
	}
	for _, p := range paths {
		err = errors.Join(err, os.Remove(p))
	}
	return err
}

// wavs writes the files, which leaves them in the page cache.
func (b Bench) wavs(c mel.Config) ([]string, error) {
	n := 2 * wire.BenchClip(c)
	wav := make([]byte, headerSize+n)
	copy(wav, "RIFF....WAVEfmt ")
	binary.LittleEndian.PutUint32(wav[4:], uint32(len(wav)-8))
	for at, v := range map[int]uint16{16: 16, 20: 1, 22: 1, 24: uint16(c.Rate), 32: 2, 34: 16} {
		binary.LittleEndian.PutUint16(wav[at:], v)
	}
	binary.LittleEndian.PutUint32(wav[28:], uint32(2*c.Rate))
	copy(wav[36:], "data")
	binary.LittleEndian.PutUint32(wav[40:], uint32(n))
	random := rand.New(rand.NewPCG(1, 2))
	for i := headerSize; i < len(wav); i += 2 {
		binary.LittleEndian.PutUint16(wav[i:], uint16(int16(random.NormFloat64()*2000)))
	}
	var paths []string
	for i := range files {
		path := filepath.Join(b.Folder, fmt.Sprintf("bench-%03d.wav", i))
		if err := os.WriteFile(path, wav, 0o600); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

const headerSize = 44

// meter adds up what callers do.
type meter struct{ clips, read, wait, sink atomic.Int64 }

// callers is how many goroutines measure, and for how long.
func (b Bench) callers() (int, time.Duration) {
	workers, span := b.Workers, time.Duration(max(b.Seconds, 0)*float64(time.Second))
	if workers == 0 {
		workers = 8 * runtime.GOMAXPROCS(0)
	}
	if span == 0 {
		span = 2 * time.Second
	}
	return workers, span
}

// each calls step from many goroutines for a while, with numbers that no other
// call has, and returns how long that took.
func (b Bench) each(step func(caller, i int) error) (time.Duration, error) {
	workers, span := b.callers()
	var wg sync.WaitGroup
	var failed atomic.Value
	start := time.Now()
	for w := range workers {
		wg.Go(func() {
			for i := w; time.Since(start) < span && failed.Load() == nil; i += workers {
				if err := step(w, i); err != nil {
					failed.Store(err)
				}
			}
		})
	}
	wg.Wait()
	err, _ := failed.Load().(error)
	return time.Since(start), err
}

// throughput computes clips from many goroutines for a while.
func (b Bench) throughput(ctx context.Context, e *Engine, paths []string) (Throughput, error) {
	var m meter
	before := e.timing()
	span, err := b.each(func(_, i int) error {
		var path []string
		if len(paths) > 0 {
			path = paths[i%len(paths):]
		}
		return b.one(ctx, e, path, &m)
	})
	took := span.Seconds()
	per := func(n *atomic.Int64) float64 { return float64(n.Load()) / 1e9 / took }
	t := Throughput{Clips: float64(m.clips.Load()) / took, Read: per(&m.read), Wait: per(&m.wait), Sink: per(&m.sink), Took: took}
	after := e.timing()
	t.Device = wire.Timing{In: after.In - before.In, Compute: after.Compute - before.Compute, Out: after.Out - before.Out}
	return t, err
}

// reading is how many clips a second the callers read into the ring's memory
// while nothing else happens. Whoever feeds a device from files cannot be faster.
func (b Bench) reading(r *ring, paths []string) (float64, error) {
	n := wire.BenchClip(r.engine.cfg)
	each := r.layout.Samples / n
	var clips atomic.Int64
	span, err := b.each(func(caller, i int) error {
		clips.Add(1)
		place := wire.Clip{At: uint32(caller % each * n / wire.Align * wire.Align), Samples: uint32(n)}
		b.turns <- struct{}{}
		defer func() { <-b.turns }()
		return readInto(r.samples(caller/each%r.layout.Slots, place), paths[i%len(paths)])
	})
	return float64(clips.Load()) / span.Seconds(), err
}

// one takes one clip through the engine: of the first path, if there is one.
func (b Bench) one(ctx context.Context, e *Engine, path []string, m *meter) error {
	start := time.Now()
	lap := func(to *atomic.Int64) {
		now := time.Now()
		to.Add(int64(now.Sub(start)))
		start = now
	}
	clip, err := e.Clip(ctx, wire.BenchClip(e.cfg))
	if err != nil {
		return err
	}
	defer clip.Release()
	lap(&m.wait)
	if len(path) > 0 {
		b.turns <- struct{}{}
		lap(&m.wait)
		err := readInto(clip.Samples(), path[0])
		<-b.turns
		if err != nil {
			return err
		}
		lap(&m.read)
	}
	mel, err := clip.Compute(ctx)
	if err != nil {
		return err
	}
	lap(&m.wait)
	if b.Sink != nil {
		err = b.Sink(mel)
		lap(&m.sink)
	}
	m.clips.Add(1)
	return err
}

// readInto reads a wav's samples straight into a clip's place.
func readInto(samples []int16, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(&samples[0])), 2*len(samples)), headerSize)
	return err
}

// timing is the time on the streams of all devices.
func (e *Engine) timing() wire.Timing {
	var sum wire.Timing
	for _, r := range e.rings {
		r.device.mu.Lock()
		sum.Add(r.device.timing)
		r.device.mu.Unlock()
	}
	return sum
}
