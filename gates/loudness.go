package gates

import (
	"math"
	"math/cmplx"

	"github.com/melforge/melforge/audio"
)

// LoudnessFloor is the least loudness in LUFS, that of silence: the absolute
// gate of BS.1770.
const LoudnessFloor = -70.0

// PeakDB is the level that no peak passes by levelling, relative to full scale.
const PeakDB = -1.0

const fullScale = 32768

// The blocks of BS.1770: 400 ms, overlapping by three quarters, of which those
// count that lie above the absolute gate and less than 10 LU below the mean.
const (
	blockSeconds = 0.4
	hops         = 4 // in a block
	offset       = -0.691
	relativeGate = -10.0
)

// Loudness is the integrated loudness in LUFS of a mono sound after
// ITU-R BS.1770-4. A sound shorter than one block of 400 ms, for which the
// standard has no answer, is taken as one block. Silence has [LoudnessFloor],
// and so has a sound of fewer than 4000 samples a second, which the weighting
// cannot be applied to.
func Loudness(p audio.PCM) float64 {
	if p.Rate < minLoudnessRate || len(p.Samples) == 0 {
		return LoudnessFloor
	}
	blocks := blockPowers(p)
	level := LoudnessFloor
	// First above the absolute gate alone, then above the relative one too.
	for _, gate := range []float64{0, relativeGate} {
		mean, any := meanAbove(blocks, max(level+gate, LoudnessFloor))
		if !any {
			return LoudnessFloor
		}
		level = lufs(mean)
	}
	return level
}

func lufs(power float64) float64 { return offset + 10*math.Log10(power) }

// meanAbove averages the powers that are louder than gate LUFS.
func meanAbove(powers []float64, gate float64) (mean float64, any bool) {
	n := 0
	for _, p := range powers {
		if p > 0 && lufs(p) > gate {
			mean += p
			n++
		}
	}
	return mean / float64(max(n, 1)), n > 0
}

// blockPowers returns the mean square of each block of the weighted sound.
func blockPowers(p audio.PCM) []float64 {
	hop := int(math.Round(blockSeconds / hops * float64(p.Rate)))
	if len(p.Samples) < hops*hop {
		return []float64{newWeighting(p.Rate).energy(p.Samples) / float64(len(p.Samples))}
	}
	w := newWeighting(p.Rate)
	parts := make([]float64, len(p.Samples)/hop)
	for i := range parts {
		parts[i] = w.energy(p.Samples[i*hop : (i+1)*hop])
	}
	blocks := make([]float64, len(parts)-hops+1)
	for i := range blocks {
		for _, e := range parts[i : i+hops] {
			blocks[i] += e
		}
		blocks[i] /= float64(hops * hop)
	}
	return blocks
}

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

// biquad is a second-order filter in transposed direct form 2, with a0 = 1.
type biquad struct {
	b0, b1, b2, a1, a2 float64
	z1, z2             float64
}

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

// energy filters samples and returns the sum of their squares, of full scale 1.
// The filters' state goes on from call to call.
func (w *weighting) energy(samples []int16) float64 {
	s, h := w.shelf, w.high
	var sum float64
	for _, v := range samples {
		x := float64(v) / fullScale
		y := s.b0*x + s.z1
		s.z1 = s.b1*x - s.a1*y + s.z2
		s.z2 = s.b2*x - s.a2*y
		z := y + h.z1
		h.z1 = -2*y - h.a1*z + h.z2
		h.z2 = y - h.a2*z
		sum += z * z
	}
	w.shelf, w.high = s, h
	return sum
}
