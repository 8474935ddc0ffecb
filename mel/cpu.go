package mel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// cpu is the engine that runs the reference on as many cores as it may.
type cpu struct {
	cfg    Config
	cores  chan *core // holding a core is the permission to compute
	rooms  sync.Pool  // of *room
	closed atomic.Bool
}

// core is what one computation at a time works with.
type core struct {
	ref *reference
	mel []float64
}

// room is the memory of one clip.
type room struct {
	samples []int16
	frames  []uint16
}

// NewCPU returns an [Engine] that computes at most workers clips at once, with
// the arithmetic of [Reference]. Reserving a clip costs memory only and never
// waits; computing waits for a worker.
func NewCPU(c Config, workers int) (Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if workers < 1 {
		return nil, fmt.Errorf("mel engine with %d workers: give it at least 1", workers)
	}
	e := &cpu{cfg: c, cores: make(chan *core, workers)}
	e.rooms.New = func() any { return new(room) }
	for range workers {
		e.cores <- &core{ref: newReference(c)}
	}
	return e, nil
}

func (e *cpu) Name() string   { return "cpu" }
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
	r.samples = slices.Grow(r.samples[:0], n)[:n]
	clear(r.samples) // so that the clip before never shows
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
	return c.room.samples
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
	if c.room != nil {
		c.engine.rooms.Put(c.room)
		c.room = nil
	}
}

// compute fills the room's frames from its samples.
func (k *core) compute(r *room) Mel {
	cfg := k.ref.cfg
	n := cfg.Frames(len(r.samples))
	size := n * cfg.NMels
	k.mel = slices.Grow(k.mel[:0], size)[:size]
	pad := k.ref.compute(k.mel, r.samples)
	r.frames = slices.Grow(r.frames[:0], size)[:size]
	for i, v := range k.mel {
		r.frames[i] = half(v)
	}
	return Mel{Frames: r.frames, N: n, NMels: cfg.NMels, Pad: half(pad)}
}
