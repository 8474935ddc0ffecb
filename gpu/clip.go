package gpu

import (
	"context"
	"errors"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// clip is a place in a slot.
type clip struct {
	ring  *ring
	slot  *slot
	place wire.Clip

	asked    bool     // Compute was called
	released bool     // Release was called
	instead  mel.Clip // where the mel is if the device failed
}

// Samples implements mel.Clip. It is the shared memory itself.
func (c *clip) Samples() []int16 {
	if c.released {
		return nil
	}
	return c.ring.samples(c.slot.index, c.place)
}

// Compute implements mel.Clip. It waits for the batch in which the clip is.
func (c *clip) Compute(ctx context.Context) (mel.Mel, error) {
	if c.released {
		return mel.Mel{}, errors.New("the clip was released")
	}
	if err := ctx.Err(); err != nil {
		return mel.Mel{}, err
	}
	c.ask()
	select {
	case <-c.slot.done:
	case <-ctx.Done():
		return mel.Mel{}, ctx.Err()
	}
	if c.slot.err != nil {
		return c.elsewhere(ctx)
	}
	frames, pad := c.ring.frames(c.slot.index, c.place)
	return mel.Mel{Frames: frames, N: int(c.place.Frames), NMels: c.ring.layout.NMels, Pad: pad}, nil
}

// ask says that the clip is filled and wanted.
func (c *clip) ask() {
	if c.asked {
		return
	}
	c.asked = true
	r := c.ring
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	c.slot.filling--
	c.slot.wanted++
	if c.slot.sealed {
		r.send(c.slot)
	} else {
		r.consider()
	}
}

// elsewhere computes a clip whose device failed for good: on another device, or
// by the fallback.
func (c *clip) elsewhere(ctx context.Context) (mel.Mel, error) {
	if c.instead == nil {
		other, err := c.ring.engine.Clip(ctx, int(c.place.Samples))
		if err != nil {
			return mel.Mel{}, err
		}
		copy(other.Samples(), c.Samples())
		c.instead = other
	}
	return c.instead.Compute(ctx)
}

// Release implements mel.Clip.
func (c *clip) Release() {
	if c.released {
		return
	}
	c.released = true
	if c.instead != nil {
		c.instead.Release()
	}
	r := c.ring
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	c.slot.held--
	if !c.asked {
		c.slot.filling--
		if s := c.slot; s == r.open && s.held == 0 && s.wanted == 0 {
			r.seal(s) // nothing is left in it
		}
		r.send(c.slot)
		r.consider() // it may have been the last that was filled
	}
	r.recycle(c.slot)
}

// empty is a clip without frames, which needs no device.
type empty struct {
	samples []int16
	mel     mel.Mel
}

func emptyClip(c mel.Config, n int) (mel.Clip, error) {
	cpu, err := mel.NewCPU(c, 1)
	if err != nil {
		return nil, err
	}
	defer cpu.Close()
	place, err := cpu.Clip(context.Background(), 0)
	if err != nil {
		return nil, err
	}
	defer place.Release()
	m, err := place.Compute(context.Background())
	return &empty{samples: make([]int16, n), mel: m}, err
}

func (e *empty) Samples() []int16                         { return e.samples }
func (e *empty) Compute(context.Context) (mel.Mel, error) { return e.mel, nil }
func (*empty) Release()                                   {}
