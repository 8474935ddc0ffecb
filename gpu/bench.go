package gpu

import (
	"context"
	"time"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// Report is what a device does by itself, with clips of half a minute where they
// can be as long. Rates are in clips a second.
type Report struct {
	Device     string     `json:"device"`
	Tuning     string     `json:"tuning"`
	FirstFrame float64    `json:"first_frame"` // seconds from nothing to the first frames: start, kernels, one clip
	Rates      wire.Rates `json:"rates"`
	OfBus      float64    `json:"of_bus"`    // its host-to-host rate over the bus's
	OfDuplex   float64    `json:"of_duplex"` // and over what the same copies do both ways with no computing
	Overlap    float64    `json:"overlap"`   // time on the device's streams over the time that went by, host to host
	Busy       float64    `json:"busy"`      // share of the time that copy-in was under way, host to host
}

// Bench measures the first device of the options. What the engine does with
// clips of its callers is for others to measure.
func Bench(ctx context.Context, o Options, c mel.Config) (Report, error) {
	begin := time.Now()
	e, err := Open(ctx, o, c)
	if err != nil {
		return Report{}, err
	}
	r := Report{Device: e.rings[0].device.info.Name}
	err = computeOne(ctx, e, wire.BenchClip(c))
	r.FirstFrame, r.Tuning = time.Since(begin).Seconds(), e.Describe()
	_ = e.Close() // what it has computed is there
	if err != nil {
		return r, err
	}
	d := e.rings[0].device
	if r.Rates, err = measure(ctx, o, c, d.info, d.tuning); err != nil {
		return r, err
	}
	r.OfBus, r.OfDuplex = r.Rates.HostToHost/r.Rates.Bus, r.Rates.HostToHost/r.Rates.Duplex
	t := r.Rates.Timing
	r.Overlap, r.Busy = (t.In+t.Compute+t.Out).Seconds()/r.Rates.Elapsed, t.In.Seconds()/r.Rates.Elapsed
	return r, nil
}

// computeOne takes a clip of silence through the engine.
func computeOne(ctx context.Context, e *Engine, samples int) error {
	clip, err := e.Clip(ctx, samples)
	if err != nil {
		return err
	}
	defer clip.Release()
	_, err = clip.Compute(ctx)
	return err
}

// Busy is the time that all devices' streams have worked so far, by what they
// did.
func (e *Engine) Busy() map[string]time.Duration {
	var sum wire.Timing
	for _, r := range e.rings {
		r.device.mu.Lock()
		sum.Add(r.device.timing)
		r.device.mu.Unlock()
	}
	return map[string]time.Duration{"copy_in": sum.In, "compute": sum.Compute, "copy_out": sum.Out}
}
