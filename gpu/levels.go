package gpu

import (
	"context"
	"fmt"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// Bandwidth is what the bus of a device does, in bytes a second.
type Bandwidth = wire.Bandwidth

// Choice is what a level chooses for a device.
type Choice struct {
	Level   int    `json:"level"`
	Samples int    `json:"samples"` // of a batch
	Slots   int    `json:"slots"`   // batches in pinned host memory
	Buffers int    `json:"buffers"` // batches on the device
	Pinned  int64  `json:"pinned"`  // bytes of host memory
	Device  int64  `json:"device"`  // bytes of device memory, about
	Why     string `json:"why"`
	Problem string `json:"problem,omitempty"` // why it fails, so that the level below takes its place
}

// Assessment is what a device can do and what each level makes of it.
type Assessment struct {
	Device    Device    `json:"device"`
	Bandwidth Bandwidth `json:"bandwidth"`
	Levels    []Choice  `json:"levels,omitempty"`
	Problem   string    `json:"problem,omitempty"` // why it cannot be used or measured
}

// Levels measures the bus of each device of the options and says what each level
// up to theirs would choose for c. Level 2 measures for some seconds, unless it
// did so before and was given a folder to keep that in. A device that cannot be
// measured is there with its problem.
func Levels(ctx context.Context, o Options, c mel.Config) ([]Assessment, error) {
	if err := check(o, c); err != nil {
		return nil, err
	}
	devices, err := choose(ctx, o)
	if err != nil {
		return nil, err
	}
	var all []Assessment
	for _, d := range devices {
		a := Assessment{Device: d}
		if a.Bandwidth, err = bandwidth(ctx, o, c, d); err != nil {
			a.Problem = err.Error()
		}
		for level := range o.Level + 1 {
			a.Levels = append(a.Levels, choice(ctx, o, c, d, level))
		}
		all = append(all, a)
	}
	return all, ctx.Err()
}

// check refuses what no device can compute.
func check(o Options, c mel.Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if o.Level < 0 || o.Level > MaxLevel {
		return fmt.Errorf("level %d: choose 0, 1 or 2", o.Level)
	}
	return wire.Supports(c)
}

func choice(ctx context.Context, o Options, c mel.Config, d Device, level int) Choice {
	t, err := tune(ctx, o, c, d, level)
	if err != nil {
		return Choice{Level: level, Problem: err.Error()}
	}
	l := wire.NewLayout(c, t.slots, t.chunk)
	return Choice{
		Level: level, Samples: t.chunk, Slots: t.slots, Buffers: t.buffers, Why: t.why,
		Pinned: int64(l.Bytes()), Device: int64(t.buffers) * int64(l.Stride()),
	}
}

// bandwidth asks a worker of its own to measure the bus.
func bandwidth(ctx context.Context, o Options, c mel.Config, d Device) (Bandwidth, error) {
	t := tuningOf(d, min(o.Level, 1))
	setup, err := setupOf(o, c, d, t).Encode()
	if err != nil {
		return Bandwidth{}, err
	}
	var b Bandwidth
	return b, ask(ctx, o, &b, "--bandwidth", "--setup", setup)
}

// setupOf is the setup of a worker that measures.
func setupOf(o Options, c mel.Config, d Device, t tuning) wire.Setup {
	return wire.Setup{Device: d.Index, Config: c, Layout: wire.NewLayout(c, t.slots, t.chunk), Chunk: t.chunk, Buffers: t.buffers, Groups: t.groups, Single: o.Single}
}
