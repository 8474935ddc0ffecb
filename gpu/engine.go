// Package gpu computes mels on NVIDIA GPUs. It links no CUDA: a worker process
// for each device, melforge-cuda, does, and this package starts, feeds, watches
// and restarts it.
//
// Samples are written straight into memory that is shared with the worker and
// pinned, and frames come back in it. The memory is divided into slots; a batch
// is what lies in one slot, so that it is bounded by samples and not by clips.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// Options say how to open the engine.
type Options struct {
	Worker   string        // path of melforge-cuda
	Devices  []int         // indices; nil: every healthy one
	Level    int           // how much is tuned: 0 nothing, 1 by the device's capabilities, 2 by measuring
	Single   bool          // transform in single precision: faster on the device, and off by up to 1e-4 near the floor
	CacheDir string        // where level 2 keeps what it measured; empty: nowhere
	Timeout  time.Duration // after which a batch counts as hung; 0: 20 s
	Log      func(string)  // warnings and what was chosen; may be nil
	Fallback mel.Engine    // computes when no device works any more; nil: that is an error

	env     []string // of the worker, for tests
	provoke string   // fault of the first worker of each device, for tests
	compile bool     // PTX though there is native code, for tests
	chunk   int      // instead of the level's, for tests
	slots   int      // the same, with a chunk
}

func (o Options) log(format string, args ...any) {
	if o.Log != nil {
		o.Log(fmt.Sprintf(format, args...))
	}
}

// Engine is a mel.Engine on one or more GPUs.
type Engine struct {
	o   Options
	cfg mel.Config

	mu      sync.Mutex
	rings   []*ring
	waiters []*waiter // in the order in which they came
	serving bool
	closed  bool
}

// waiter is a caller for whom there was no room.
type waiter struct {
	samples int
	answer  chan answer // of one place
}

// answer is a place, or why there is none.
type answer struct {
	clip *clip
	err  error
}

// Open starts a worker for each device and returns when all are ready. A device
// that does not start is left out with a warning; if none is left, the error
// says why and what to do.
func Open(ctx context.Context, o Options, c mel.Config) (*Engine, error) {
	if err := check(o, c); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	s, devices, err := sendScout(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.dismiss()
	e := &Engine{o: o, cfg: c}
	rings, wrong := make([]*ring, len(devices)), make([]error, len(devices))
	var all sync.WaitGroup
	for i, d := range devices {
		all.Go(func() { rings[i], wrong[i] = e.open(ctx, d, s) })
	}
	all.Wait()
	for i, d := range devices {
		if wrong[i] != nil {
			o.log("warning: GPU %d (%s) is left out: %v", d.Index, d.Name, wrong[i])
			wrong[i] = fmt.Errorf("GPU %d (%s): %w", d.Index, d.Name, wrong[i])
			continue
		}
		e.rings = append(e.rings, rings[i])
	}
	if len(e.rings) == 0 {
		return nil, &Unavailable{Reason: errors.Join(wrong...).Error(), Remedy: "free the device (nvidia-smi lists who uses it) or compute with --engine cpu"}
	}
	return e, nil
}

// open makes one device ready. The scout may be nil.
func (e *Engine) open(ctx context.Context, d Device, s *scout) (*ring, error) {
	dev := newDevice(e.o, e.cfg, d)
	memory, err := dev.start(ctx, s)
	if err != nil {
		return nil, err
	}
	return newRing(e, dev, memory), nil
}

// Name implements mel.Engine.
func (e *Engine) Name() string { return "cuda" }

// Config implements mel.Engine.
func (e *Engine) Config() mel.Config { return e.cfg }

// Describe says in a line a device what computes and how it was tuned.
func (e *Engine) Describe() string {
	var lines []string
	for _, r := range e.rings {
		lines = append(lines, r.device.describe())
	}
	return strings.Join(lines, "\n")
}

// Clip implements mel.Engine. Frames are not released by computing the next
// clip: a goroutine that holds clips while it reserves more must know that
// there is room for them all.
func (e *Engine) Clip(ctx context.Context, n int) (mel.Clip, error) {
	if n < 0 || n > e.cfg.MaxSamples() {
		return nil, fmt.Errorf("clip of %d samples: %s takes at most %d; split it", n, e.cfg.Name, e.cfg.MaxSamples())
	}
	if e.cfg.Frames(n) == 0 {
		return emptyClip(e.cfg, n)
	}
	if most := wire.MaxClip(e.cfg); n > most {
		if e.o.Fallback != nil {
			return e.o.Fallback.Clip(ctx, n)
		}
		return nil, fmt.Errorf("clip of %d samples: the GPU takes at most %d; split it, or compute with --engine cpu", n, most)
	}
	c, err := e.place(ctx, n)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() == nil && !errors.Is(err, mel.ErrClosed) && e.o.Fallback != nil:
		return e.o.Fallback.Clip(ctx, n)
	}
	return nil, err
}

// place takes room for n samples, waiting for it if need be.
func (e *Engine) place(ctx context.Context, n int) (*clip, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	if len(e.waiters) == 0 || e.closed {
		if c, err := e.reserve(n); c != nil || err != nil {
			e.mu.Unlock()
			return c, err
		}
	}
	w := &waiter{samples: n, answer: make(chan answer, 1)}
	e.waiters = append(e.waiters, w)
	e.mu.Unlock()
	select {
	case a := <-w.answer:
		return a.clip, a.err
	case <-ctx.Done():
		e.leave(w)
		return nil, ctx.Err()
	}
}

// leave takes a waiter out of the queue, and back what it was given meanwhile.
func (e *Engine) leave(w *waiter) {
	e.mu.Lock()
	e.waiters = slices.DeleteFunc(e.waiters, func(o *waiter) bool { return o == w })
	e.mu.Unlock()
	select {
	case a := <-w.answer:
		if a.clip != nil {
			a.clip.Release()
		}
	default:
	}
}

// reserve takes room on the device that has the least to do. Without room it
// returns nothing, without devices an error. e.mu is held.
func (e *Engine) reserve(n int) (*clip, error) {
	if e.closed {
		return nil, mel.ErrClosed
	}
	alive := slices.DeleteFunc(slices.Clone(e.rings), func(r *ring) bool { return r.dead != nil })
	if len(alive) == 0 {
		var all []error
		for _, r := range e.rings {
			all = append(all, r.dead)
		}
		return nil, errors.Join(all...)
	}
	slices.SortStableFunc(alive, func(a, b *ring) int { return a.load - b.load })
	for _, r := range alive {
		if c := r.reserve(n); c != nil {
			return c, nil
		}
	}
	return nil, nil
}

// serve gives room to those who wait for it, first come, first served. Handing
// it over wakes nobody in vain. e.mu is held.
func (e *Engine) serve() {
	if e.serving { // reserving may free a slot
		return
	}
	e.serving = true
	defer func() { e.serving = false }()
	for len(e.waiters) > 0 {
		c, err := e.reserve(e.waiters[0].samples)
		if c == nil && err == nil {
			return
		}
		e.waiters[0].answer <- answer{c, err}
		e.waiters = e.waiters[1:]
	}
}

// Close implements mel.Engine.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.serve()
	e.mu.Unlock()
	var all []error
	for _, r := range e.rings {
		all = append(all, r.close())
	}
	return errors.Join(all...)
}
