package gpu

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// MaxLevel is the highest level of Options.
const MaxLevel = 2

// tuning is what a level decides.
type tuning struct {
	chunk   int // samples that the device computes at once, and that a slot holds
	buffers int // chunks on the device: one copied in, one computed, one copied out
	slots   int // in the shared memory
	why     string
}

func (t tuning) String() string {
	return fmt.Sprintf("%d slots of %d samples (%s)", t.slots, t.chunk, t.why)
}

const (
	safeChunk   = 1 << 20
	safeSlots   = 4
	tunedSlots  = 16
	waves       = 3                 // of blocks, so that the last, partly empty one costs little
	waveSamples = 2 * 32 * 160      // that one multiprocessor computes in a wave
	chunkBytes  = 2 + 128*2/160 + 1 // on the device for each sample, about
)

// tuningOf is the tuning of level 0 or 1, which cannot fail.
func tuningOf(d Device, level int) tuning {
	if level == 0 {
		return tuning{chunk: safeChunk, buffers: 3, slots: safeSlots, why: "safe"}
	}
	t := tuning{chunk: max(safeChunk, waves*waveSamples*d.Processors), buffers: 3, slots: tunedSlots, why: "from its capabilities"}
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
	file := ""
	if o.CacheDir != "" {
		// The worker too, since its kernels decide.
		id := sha256.Sum256(fmt.Append(nil, d.UUID, d.Driver, c.NMels, workerStamp(o.Worker)))
		file = filepath.Join(o.CacheDir, fmt.Sprintf("cuda-%x.json", id[:8]))
		if r, err := readRates(file); err == nil {
			t.chunk, t.why = r.Chunk, fmt.Sprintf("measured before: %.0f clips/s", r.HostToHost)
			return t, nil
		}
	}
	best, err := measureChunks(ctx, o, c, d, t)
	if err != nil {
		return tuning{}, err
	}
	t.chunk, t.why = best.Chunk, fmt.Sprintf("measured: %.0f clips/s", best.HostToHost)
	if file != "" {
		if err := writeRates(file, best); err != nil {
			o.log("warning: what was measured is not kept: %v", err)
		}
	}
	return t, nil
}

// measureChunks tries chunks around the one that the capabilities suggest, and
// returns the rates of the fastest. A larger one must be faster by a hundredth
// to be worth its memory.
func measureChunks(ctx context.Context, o Options, c mel.Config, d Device, t tuning) (wire.Rates, error) {
	var best wire.Rates
	for _, chunk := range []int{t.chunk / 4, t.chunk / 2, t.chunk, 2 * t.chunk} {
		t.chunk = max(chunk, safeChunk)
		r, err := measure(ctx, o, c, d, t)
		if err != nil {
			return wire.Rates{}, fmt.Errorf("measure batches of %d samples: %w", t.chunk, err)
		}
		o.log("GPU %d: batches of %d samples: %.0f clips/s", d.Index, r.Chunk, r.HostToHost)
		if r.HostToHost > 1.01*best.HostToHost {
			best = r
		}
	}
	return best, nil
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

func readRates(file string) (wire.Rates, error) {
	var r wire.Rates
	b, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	if r.Chunk < 1 {
		return r, fmt.Errorf("%s: no chunk", file)
	}
	return r, nil
}

func writeRates(file string, r wire.Rates) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp := commit.Temp(file)
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

// workerStamp tells builds of the worker apart.
func workerStamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}
