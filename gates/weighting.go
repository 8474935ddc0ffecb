package gates

import (
	"math"
	"math/cmplx"
)

// minLoudnessRate keeps the shelf's frequency below Nyquist's.
const minLoudnessRate = 4000

// The analogue prototypes of the two filters that BS.1770 gives for 48 kHz: a
// high shelf for the head and a high-pass for the ear. The bilinear transform
// takes them to any rate, and at 48 kHz to the published coefficients.
const (
	shelfHz   = 1681.974450955533
	shelfDB   = 3.999843853973347
	shelfQ    = 0.7071752369554196
	shelfBand = 0.4996667741545416 // exponent of the gain at the shelf's middle
	highHz    = 38.13547087602444
	highQ     = 0.5003270373238773
)

// biquad is a second-order filter with a0 = 1.
type biquad struct{ b0, b1, b2, a1, a2 float64 }

// weighting is BS.1770's K-weighting.
type weighting struct{ shelf, high biquad }

// newWeighting transforms the prototypes. The transform bends them a little
// more the lower the rate, so the whole is scaled to have the gain at
// calibrationHz that it has at 48 kHz, for which the offset allows.
func newWeighting(rate int) *weighting {
	w := transformed(rate)
	if rate != 48000 {
		scale := transformed(48000).gain(48000) / w.gain(rate)
		w.shelf.b0 *= scale
		w.shelf.b1 *= scale
		w.shelf.b2 *= scale
	}
	return w
}

func transformed(rate int) *weighting {
	k := math.Tan(math.Pi * shelfHz / float64(rate))
	vh := math.Pow(10, shelfDB/20)
	vb := math.Pow(vh, shelfBand)
	a0 := 1 + k/shelfQ + k*k
	shelf := biquad{
		b0: (vh + vb*k/shelfQ + k*k) / a0, b1: 2 * (k*k - vh) / a0, b2: (vh - vb*k/shelfQ + k*k) / a0,
		a1: 2 * (k*k - 1) / a0, a2: (1 - k/shelfQ + k*k) / a0,
	}
	k = math.Tan(math.Pi * highHz / float64(rate))
	a0 = 1 + k/highQ + k*k
	high := biquad{b0: 1, b1: -2, b2: 1, a1: 2 * (k*k - 1) / a0, a2: (1 - k/highQ + k*k) / a0}
	return &weighting{shelf, high}
}

// calibrationHz is the tone whose loudness the standard states.
const calibrationHz = 997

// gain is the filters' gain at calibrationHz.
func (w *weighting) gain(rate int) float64 {
	z := cmplx.Rect(1, -2*math.Pi*calibrationHz/float64(rate))
	g := 1.0
	for _, f := range []biquad{w.shelf, w.high} {
		num := complex(f.b0, 0) + complex(f.b1, 0)*z + complex(f.b2, 0)*z*z
		den := 1 + complex(f.a1, 0)*z + complex(f.a2, 0)*z*z
		g *= cmplx.Abs(num / den)
	}
	return g
}

// state is what the filters, in transposed direct form 2, remember of the
// samples before.
type state struct{ shelf1, shelf2, high1, high2 float64 }

// energy filters samples, after silence, and returns the sum of their squares,
// of full scale 1.
func (w *weighting) energy(samples []int16) float64 {
	return w.scaled().energyFrom(new(state), samples)
}

// scaled is w for samples of 16 bits.
func (w weighting) scaled() weighting {
	w.shelf.b0 /= fullScale
	w.shelf.b1 /= fullScale
	w.shelf.b2 /= fullScale
	return w
}

// energyFrom goes on from a state, which it updates. It is the readable twin of the
// kernels and does the same operations in the same order.
func (w weighting) energyFrom(s *state, samples []int16) float64 {
	z := *s
	var sum float64
	for _, v := range samples {
		x := float64(v)
		y := math.FMA(w.shelf.b0, x, z.shelf1)
		z.shelf1 = math.FMA(-w.shelf.a1, y, math.FMA(w.shelf.b1, x, z.shelf2))
		z.shelf2 = math.FMA(-w.shelf.a2, y, w.shelf.b2*x)
		out := y + z.high1
		z.high1 = math.FMA(-w.high.a1, out, math.FMA(-2, y, z.high2))
		z.high2 = math.FMA(-w.high.a2, out, y)
		sum = math.FMA(out, out, sum)
	}
	*s = z
	return sum
}
