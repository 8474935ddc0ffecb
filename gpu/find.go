package gpu

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/mel"
)

// finding is what level 2 found to be the fastest, as it is kept.
type finding struct {
	Chunk      int     `json:"chunk"`
	Buffers    int     `json:"buffers"`
	Groups     int     `json:"groups,omitempty"`
	HostToHost float64 `json:"host_to_host"` // clips/s
	DeviceOnly float64 `json:"device_only"`  // clips/s

	kept bool // it was found in an earlier run
}

func (f finding) why() string {
	when := "measured"
	if f.kept {
		when = "measured before"
	}
	return fmt.Sprintf("%s: %.0f clips/s, %.0f on the device alone", when, f.HostToHost, f.DeviceOnly)
}

// worth is how much faster the larger must be to be worth its memory.
const worth = 1.01

// find is what was found before on this device with this driver, or what it
// finds now.
func find(ctx context.Context, o Options, c mel.Config, d Device, t tuning) (finding, error) {
	file := ""
	if o.CacheDir != "" {
		// The worker too, since its kernels decide.
		id := sha256.Sum256(fmt.Append(nil, d.UUID, d.Driver, c.NMels, workerStamp(o.Worker)))
		file = filepath.Join(o.CacheDir, fmt.Sprintf("cuda-%x.json", id[:8]))
		if f, err := readFinding(file); err == nil {
			return f, nil
		}
	}
	f, err := search(ctx, o, c, d, t)
	if err != nil || file == "" {
		return f, err
	}
	if err := f.write(file); err != nil {
		o.log("warning: what was measured is not kept: %v", err)
	}
	return f, nil
}

// search tries what is near the tuning that the capabilities suggest, one thing
// after the other: batches and how many are on the device by how fast frames are
// back in the host's memory, the shape of blocks by the device alone, since the
// bus hides it.
func search(ctx context.Context, o Options, c mel.Config, d Device, t tuning) (finding, error) {
	var best finding
	try := func(f finding, rate func(finding) float64) error {
		t.chunk, t.buffers, t.groups = max(f.Chunk, safeChunk), f.Buffers, f.Groups
		r, err := measure(ctx, o, c, d, t)
		if err != nil {
			return fmt.Errorf("measure batches of %d samples: %w", t.chunk, err)
		}
		f.Chunk, f.HostToHost, f.DeviceOnly = r.Chunk, r.HostToHost, r.DeviceOnly
		o.log("GPU %d: %d batches of %d samples on the device: %.0f clips/s, %.0f on the device alone", d.Index, f.Buffers, f.Chunk, f.HostToHost, f.DeviceOnly)
		if rate(f) > worth*rate(best) {
			best = f
		}
		return nil
	}
	through := func(f finding) float64 { return f.HostToHost }
	chunk, buffers := t.chunk, t.buffers
	for _, n := range []int{chunk / 4, chunk / 2, chunk, 2 * chunk} {
		if err := try(finding{Chunk: n, Buffers: buffers}, through); err != nil {
			return best, err
		}
	}
	for _, n := range []int{buffers - 1, buffers + 2} {
		if err := try(finding{Chunk: best.Chunk, Buffers: n}, through); err != nil {
			return best, err
		}
	}
	alone := func(f finding) float64 { return f.DeviceOnly }
	return best, try(finding{Chunk: best.Chunk, Buffers: best.Buffers, Groups: 1}, alone)
}

func readFinding(file string) (finding, error) {
	f := finding{kept: true}
	b, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	if f.Chunk < 1 || f.Buffers < 1 || f.Groups < 0 {
		return f, fmt.Errorf("%s: nothing was found", file)
	}
	return f, nil
}

func (f finding) write(file string) error {
	b, err := json.Marshal(f)
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
