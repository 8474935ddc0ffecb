package mel

import (
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/melforge/melforge/mel/internal/spectra"
)

// fast says whether kernels can compute c.
func (c Config) fast() bool {
	switch {
	case !spectra.Supported(c.NFFT, c.Hop, c.RemoveDC), max(c.LogFloor, c.LogAdd) < 0x1p-60:
		return false
	case c.Preemphasis != 0 && (c.Framing != FramingCentreZero || c.FramePreemphasis != 0):
		return false // what is mirrored would be emphasised backwards
	}
	return c.Normalize == "" || c.DynamicRange == 0
}

// newPlan prepares the kernels for c. Emphasis inside a frame differs from that
// over the clip in the frame's first sample only, which the window silences.
func newPlan(c Config, k spectra.Kernels) (*spectra.Plan, error) {
	p := spectra.Params{
		Hop: c.Hop, Start: c.start(), Window: c.window(), Emphasis: c.Preemphasis + c.FramePreemphasis,
		Magnitude: c.Spectrum == "magnitude", RootBias: c.SpectrumAdd,
		Bias: c.LogAdd, Floor: c.LogFloor, Base: 10,
	}
	if c.Log == "ln" {
		p.Base = math.E
	}
	for i := range p.Window {
		p.Window[i] *= c.unit()
	}
	for _, b := range c.Bands() {
		p.Bands = append(p.Bands, spectra.Band{First: b.First, Weights: b.Weights})
	}
	return spectra.NewPlan(p, k)
}

// Operations is how much arithmetic a frame costs the engine of [NewCPU], in
// vectors of eight float64, for benchmarks that want to know what would be
// possible. It is zero where there are no kernels for c.
func Operations(c Config) float64 {
	if c.Validate() != nil || !c.fast() {
		return 0
	}
	plan, err := newPlan(c, spectra.Plain())
	if err != nil {
		return 0
	}
	return float64(plan.Operations()) / spectra.Lanes
}

// fastCore computes what the reference does by way of kernels.
type fastCore struct {
	cfg      Config
	plan     *spectra.Plan
	scratch  *spectra.Scratch
	features []float64 // of what is normalised
}

func (k *fastCore) compute(r *room) Mel {
	defer k.scratch.Shrink()
	n := k.cfg.Frames(r.n)
	m := Mel{N: n, NMels: k.cfg.NMels}
	if k.cfg.Normalize != "" {
		k.normalized(r)
		r.frames = slices.Grow(r.frames[:0], len(k.features))[:len(k.features)]
		for i, v := range k.features {
			r.frames[i] = half(v)
		}
		m.Frames = r.frames
		return m
	}
	scale, pad := k.logs(r)
	// Kernels write whole blocks of frames.
	size := spectra.Blocks(n) * spectra.Lanes * k.cfg.NMels
	r.frames = slices.Grow(r.frames[:0], size)[:size]
	k.plan.Halves(r.frames, k.scratch, scale)
	m.Frames, m.Pad = r.frames[:n*k.cfg.NMels], float16.Fromfloat32(pad).Bits()
	return m
}

// logs leaves the logarithms of the room's frames in the scratch, and returns
// how they are to be scaled and what a frame of padding is.
func (k *fastCore) logs(r *room) (scale spectra.Scale, pad float32) {
	c := k.cfg
	silence := k.plan.Log(c.LogAdd) // padding has no power
	loudest := k.plan.Logs(k.scratch, c.clip(r), silence)
	scale = spectra.Scale{Floor: float32(math.Inf(-1)), Offset: float32(c.Offset), Factor: float32(1 / c.Divisor)}
	if c.DynamicRange > 0 {
		scale.Floor = loudest - float32(c.DynamicRange)
	}
	return scale, scale.Apply(silence)
}

// normalized leaves the room's frames in k.features.
func (k *fastCore) normalized(r *room) {
	size := k.cfg.Frames(r.n) * k.cfg.NMels
	if cap(k.features) > keepSamples {
		k.features = nil // of a long clip
	}
	k.features = slices.Grow(k.features[:0], size)[:size]
	k.plan.Features(k.features, k.scratch, k.cfg.clip(r))
	for i, v := range k.features {
		k.features[i] = (v + k.cfg.Offset) / k.cfg.Divisor
	}
	normalize(k.features, k.cfg.NMels)
}

// clip is the room as the kernels want it.
func (c Config) clip(r *room) spectra.Clip {
	c.fillMargins(r)
	out := spectra.Clip{Padded: r.padded, Frames: c.Frames(r.n)}
	if c.Preemphasis != 0 {
		out.Stop = r.before + r.n
	}
	if c.RemoveDC {
		samples := r.samples()
		out.Centre = func(frame int) float64 {
			var sum int
			for _, v := range samples[frame*c.Hop:][:c.winLength()] {
				sum += int(v)
			}
			return (1 - c.FramePreemphasis) * float64(sum) / float64(c.winLength())
		}
	}
	return out
}

// fillMargins puts before and behind the samples what frames see there. The
// margins hold zeros.
func (c Config) fillMargins(r *room) {
	samples, mirrored := r.samples(), c.mirrored(r.n)
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			if at := sourceOf(i, r.n, mirrored); at >= 0 {
				r.padded[r.before+i] = samples[at]
			}
		}
	}
	if c.Frames(r.n) == 0 {
		return
	}
	fill(c.start(), 0)
	end := c.start() + (c.Frames(r.n)-1)*c.Hop + c.NFFT // of the last frame
	fill(r.n, end)
}

// Values computes the log-mel spectrogram of a clip as the engine of [NewCPU]
// does, but returns it as it is before FP16, in the form of [Reference].
func Values(c Config, samples []int16) (frames []float32, pad float32, err error) {
	if err := c.Validate(); err != nil {
		return nil, 0, err
	}
	if err := c.checkLength(len(samples)); err != nil {
		return nil, 0, err
	}
	frames = make([]float32, c.Frames(len(samples))*c.NMels)
	if !c.fast() {
		exact, pad64, err := Reference(c, samples)
		for i, v := range exact {
			frames[i] = float32(v)
		}
		return frames, float32(pad64), err
	}
	plan, err := newPlan(c, spectra.Best())
	if err != nil {
		return nil, 0, err
	}
	before, after := plan.Margin()
	r := &room{padded: make([]int16, before+len(samples)+after), before: before, n: len(samples)}
	copy(r.samples(), samples)
	k := &fastCore{cfg: c, plan: plan, scratch: plan.NewScratch()}
	if c.Normalize != "" {
		k.normalized(r)
		for i, v := range k.features {
			frames[i] = float32(v)
		}
		return frames, 0, nil
	}
	scale, pad := k.logs(r)
	plan.Floats(frames, k.scratch, scale)
	return frames, pad, nil
}
