package mel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/melforge/melforge/mel/internal/spectra"
)

// cpu is the engine that computes on as many cores as it may.
type cpu struct {
	cfg    Config
	name   string
	before int       // samples of margin before a clip
	after  int       // and behind it
	cores  chan core // holding a core is the permission to compute
	rooms  sync.Pool // of *room
	closed atomic.Bool
}

// core is what one computation at a time works with.
type core interface {
	// compute fills the room's frames from its samples.
	compute(r *room) Mel
}

// room is the memory of one clip.
type room struct {
	memory []int16
	padded []int16 // the samples between their margins, in memory
	before int     // where they begin
	n      int     // how many there are
	frames []uint16
}

// wavHeader is the length of the header of a wav file. Copying from a file is
// fastest to an address with the same remainder by 64 as the place in the file.
const wavHeader = 44

// reserve makes room for n samples and the margins, all zero so that the clip
// before never shows.
func (r *room) reserve(before, n, after int) {
	const line = 64 / 2 // samples
	r.memory = slices.Grow(r.memory[:0], line+before+n+after)[:line+before+n+after]
	at := uintptr(unsafe.Pointer(unsafe.SliceData(r.memory))) + uintptr(2*before)
	skip := int((wavHeader-at)%64) / 2
	r.padded = r.memory[skip:][:before+n+after]
	r.before, r.n = before, n
	clear(r.padded)
}

// keepSamples is the longest clip whose memory is kept for the next: a minute at
// 48 kHz. Longer ones are rare, and would hold it forever.
const keepSamples = 60 * 48000

func (r *room) samples() []int16 { return r.padded[r.before:][:r.n] }

// NewCPU returns an [Engine] that computes at most workers clips at once.
// Reserving a clip costs memory only and never waits; computing waits for a
// worker.
//
// Where there are kernels for the configuration's frames, it uses the fastest
// that this machine has: the result is within 1e-6 of [Reference] (times
// 4/Divisor) before FP16, and has the same bits on every amd64 processor,
// whatever its vectors and the number of workers. (What is normalised can be
// further off, in bands that hardly change over the clip.) Elsewhere it computes
// the reference itself.
func NewCPU(c Config, workers int) (Engine, error) { return newCPU(c, workers, spectra.Best()) }

// NewReference returns an engine like [NewCPU]'s with the arithmetic of
// [Reference], to hold others to.
func NewReference(c Config, workers int) (Engine, error) {
	e, err := open(c, workers, "reference")
	if err != nil {
		return nil, err
	}
	for range workers {
		e.cores <- &referenceCore{ref: newReference(c)}
	}
	return e, nil
}

func newCPU(c Config, workers int, k spectra.Kernels) (Engine, error) {
	e, err := open(c, workers, "cpu")
	if err != nil {
		return nil, err
	}
	var next func() core
	if c.fast() {
		plan, err := newPlan(c, k)
		if err != nil {
			return nil, err
		}
		e.before, e.after = plan.Margin()
		next = func() core { return &fastCore{cfg: c, plan: plan, scratch: plan.NewScratch()} }
	} else {
		next = func() core { return &referenceCore{ref: newReference(c)} }
	}
	for range workers {
		e.cores <- next()
	}
	return e, nil
}

// open is an engine that still lacks its cores.
func open(c Config, workers int, name string) (*cpu, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if workers < 1 {
		return nil, fmt.Errorf("mel engine with %d workers: give it at least 1", workers)
	}
	e := &cpu{cfg: c, name: name, cores: make(chan core, workers)}
	e.rooms.New = func() any { return new(room) }
	return e, nil
}

func (e *cpu) Name() string   { return e.name }
func (e *cpu) Config() Config { return e.cfg }

func (e *cpu) Close() error {
	e.closed.Store(true)
	return nil
}

func (e *cpu) Clip(ctx context.Context, n int) (Clip, error) {
	if e.closed.Load() {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.cfg.checkLength(n); err != nil {
		return nil, err
	}
	r := e.rooms.Get().(*room)
	r.reserve(e.before, n, e.after)
	return &cpuClip{engine: e, room: r}, nil
}

// cpuClip is a clip of the CPU engine; its room is nil once released.
type cpuClip struct {
	engine *cpu
	room   *room
}

func (c *cpuClip) Samples() []int16 {
	if c.room == nil {
		return nil
	}
	return c.room.samples()
}

func (c *cpuClip) Compute(ctx context.Context) (Mel, error) {
	if c.room == nil {
		return Mel{}, errors.New("the clip was released")
	}
	if err := ctx.Err(); err != nil {
		return Mel{}, err
	}
	e := c.engine
	select {
	case <-ctx.Done():
		return Mel{}, ctx.Err()
	case core := <-e.cores:
		defer func() { e.cores <- core }()
		return core.compute(c.room), nil
	}
}

func (c *cpuClip) Release() {
	if c.room != nil && cap(c.room.memory) <= keepSamples {
		c.engine.rooms.Put(c.room)
	}
	c.room = nil
}

// referenceCore computes the reference.
type referenceCore struct {
	ref *reference
	mel []float64
}

func (k *referenceCore) compute(r *room) Mel {
	cfg := k.ref.cfg
	n := cfg.Frames(r.n)
	size := n * cfg.NMels
	k.mel = slices.Grow(k.mel[:0], size)[:size]
	pad := k.ref.compute(k.mel, r.samples())
	r.frames = slices.Grow(r.frames[:0], size)[:size]
	for i, v := range k.mel {
		r.frames[i] = half(v)
	}
	return Mel{Frames: r.frames, N: n, NMels: cfg.NMels, Pad: half(pad)}
}
