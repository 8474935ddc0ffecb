package gpu

import (
	"context"
	"fmt"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// MaxLevel is the highest level of Options.
const MaxLevel = 2

// tuning is what a level decides.
type tuning struct {
	chunk   int // samples that the device computes at once, and that a slot holds
	buffers int // chunks on the device: one copied in, one computed, one copied out, and one to spare
	slots   int // in the shared memory
	groups  int // of threads to a block; 0: as many as fit
	why     string
}

func (t tuning) String() string {
	return fmt.Sprintf("%d slots of %d samples (%s)", t.slots, t.chunk, t.why)
}

const (
	safeChunk   = 1 << 20
	safeSlots   = 4
	tunedSlots  = 12
	waves       = 3                 // of blocks, so that the last, partly empty one costs little
	waveSamples = 2 * 32 * 160      // that one multiprocessor computes in a wave
	chunkBytes  = 2 + 128*2/160 + 1 // on the device for each sample, about
)

// tuningOf is the tuning of level 0 or 1, which cannot fail.
func tuningOf(d Device, level int) tuning {
	if level == 0 {
		return tuning{chunk: safeChunk, buffers: 3, slots: safeSlots, why: "safe"}
	}
	t := tuning{chunk: max(safeChunk, waves*waveSamples*d.Processors), buffers: 4, slots: tunedSlots, why: "from its capabilities"}
	for t.chunk > safeChunk && int64(t.chunk)*chunkBytes*int64(t.buffers) > d.Memory/8 {
		t.chunk /= 2
	}
	return t
}

// tune returns the tuning of a level for a device.
func tune(ctx context.Context, o Options, c mel.Config, d Device, level int) (tuning, error) {
	t := tuningOf(d, min(level, 1))
	if o.chunk > 0 {
		t.chunk, t.why = o.chunk, "as told"
		if o.slots > 0 {
			t.slots = o.slots
		}
		return t, nil
	}
	if level < MaxLevel {
		return t, nil
	}
	f, err := find(ctx, o, c, d, t)
	if err != nil {
		return tuning{}, err
	}
	t.chunk, t.buffers, t.groups, t.why = f.Chunk, f.Buffers, f.Groups, f.why()
	return t, nil
}

// measure asks a worker of its own for the rates of a tuning.
func measure(ctx context.Context, o Options, c mel.Config, d Device, t tuning) (wire.Rates, error) {
	setup, err := setupOf(o, c, d, t).Encode()
	if err != nil {
		return wire.Rates{}, err
	}
	var r wire.Rates
	return r, ask(ctx, o, &r, "--bench", "--setup", setup)
}
