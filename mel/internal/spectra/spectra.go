// Package spectra computes log-mel spectrograms fast. It works on blocks of
// eight frames, one in each lane of a vector, in float64: a frame's faintest
// bands lie 80 dB and more below its loudest, where float32 would be wrong in
// the third digit.
//
// Every kernel exists in plain Go, in AVX2 and in AVX-512. All do the same
// operations in the same order, fused multiplications included, so that from
// the same tables they compute the same bits.
package spectra

//go:generate go run ./gen

import (
	"fmt"
	"math"
	"slices"
)

// Lanes is the number of frames in a block.
const Lanes = 8

// layout is how the kernels for one length of transform use memory.
type layout struct {
	n, a, b    int       // n = a·b points
	hop        int       // samples between frames
	extra      int       // columns of a tile beyond a block's
	centred    bool      // a number for each frame is taken from its samples first
	spill      int       // vectors that the kernels put aside
	operations int       // arithmetic of the power kernels on a block, in vectors
	constants  []float64 // what the butterflies multiply by
}

// layouts are those that there are kernels for.
func layouts() []layout { return []layout{layout400, layout512, layout1024} }

func (l layout) centre() int { return l.b * l.row() }                  // where in work those numbers are
func (l layout) work() int   { return l.centre() + (1+l.spill)*Lanes } // float64s of work in all
func (l layout) stride() int { return Lanes + l.extra }                // float64s of a tile's row
func (l layout) row() int    { return (l.a/2 + 1) * 2 * Lanes }        // float64s of work for each of b

// slot is where in work the power of a bin lies.
func (l layout) slot(bin int) int {
	ka, kb := bin%l.a, bin/l.a
	if ka > l.a/2 { // the same power as its mirror image
		ka, kb = l.a-ka, l.b-1-kb
	}
	return kb*l.row() + ka*2*Lanes
}

// table is what the power kernels read: constants, the window in the order of
// the first pass, and the twiddles of the second.
func (l layout) table(window []float64) []float64 {
	t := slices.Clone(l.constants)
	for nb := range l.b {
		for na := range l.a {
			t = append(t, window[l.b*na+nb])
		}
	}
	for ka := 1; ka <= l.a/2; ka++ {
		for nb := 1; nb < l.b; nb++ {
			s, c := math.Sincos(-2 * math.Pi * float64(ka*nb) / float64(l.n))
			t = append(t, c, s)
		}
	}
	return t
}

// tap is one weight of a mel filter: the place of the bin's power, in bytes
// from the start of work, and the weight.
type tap struct {
	at     int
	weight float64
}

// Band is a mel filter without its zeros.
type Band struct {
	First   int // the bin of the first weight
	Weights []float64
}

// Params say what a [Plan] computes: log(max(Bias + Σ Weights·power, Floor)).
type Params struct {
	Hop       int
	Start     int       // the first sample of frame 0, zero or less
	Emphasis  float64   // a in x[i] - a·x[i-1]
	Magnitude bool      // the power's root takes its place
	RootBias  float64   // added to the power under the root
	Window    []float64 // as long as the transform, and scaled as the samples are to be
	Bands     []Band
	Bias      float64
	Floor     float64 // at least 2^-60
	Base      float64 // of the logarithm
}

// Plan is everything that can be computed before the samples are there. It is
// safe for concurrent use.
type Plan struct {
	layout
	kernels   Kernels
	table     []float64
	taps      []tap
	counts    []int
	bias      float64
	start     int
	emphasis  float64
	magnitude bool
	rootBias  float64
	log       logarithm
}

// Supported says whether there are kernels for frames of n points every hop,
// and for taking from each frame its centre if that is asked for.
func Supported(n, hop int, centred bool) bool {
	l, ok := find(n, hop)
	return ok && (l.centred || !centred)
}

func find(n, hop int) (layout, bool) {
	for _, l := range layouts() {
		if l.n == n && l.hop == hop {
			return l, true
		}
	}
	return layout{}, false
}

// NewPlan prepares p for the kernels k.
func NewPlan(p Params, k Kernels) (*Plan, error) {
	l, ok := find(len(p.Window), p.Hop)
	if !ok {
		return nil, fmt.Errorf("no kernels for %d points every %d samples", len(p.Window), p.Hop)
	}
	table := l.table(p.Window)
	plan := &Plan{layout: l, kernels: k, table: append(aligned[float64](len(table)), table...), bias: p.Bias, log: newLogarithm(p),
		start: p.Start, emphasis: p.Emphasis, magnitude: p.Magnitude, rootBias: p.RootBias}
	for _, b := range p.Bands {
		plan.counts = append(plan.counts, len(b.Weights))
		for i, w := range b.Weights {
			plan.taps = append(plan.taps, tap{8 * l.slot(b.First+i), w})
		}
	}
	if len(plan.taps) == 0 {
		return nil, fmt.Errorf("mel filters without any weight")
	}
	return plan, nil
}

// Operations is how many operations on vectors of eight the plan does for a
// block: arithmetic and conversions, not loads, stores and shuffles.
func (p *Plan) Operations() int {
	const logarithm, half = 19, 4
	return 2*p.hop + p.operations + len(p.taps) + p.Bands()*(logarithm+half)
}

// Margin is how many samples a clip needs around it: before, where all but those
// from Start on may hold anything, and behind.
func (p *Plan) Margin() (before, after int) {
	return (Lanes-p.extra)*p.hop - p.start + 1, (2*Lanes+p.extra)*p.hop + p.n
}
