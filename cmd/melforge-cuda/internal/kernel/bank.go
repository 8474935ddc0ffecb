package kernel

import (
	"math"

	"github.com/melforge/melforge/mel"
)

// band is one triangular mel filter without its zeros, as package mel has it.
type band struct {
	first   int // the FFT bin of the first weight
	weights []float64
}

// bank is c's mel filters.
func bank(c mel.Config) []band {
	corner := make([]float64, c.NMels+2) // on the axis where triangles are straight
	low, high := toMel(c.MelScale, c.FMin), toMel(c.MelScale, c.FMax)
	for i := range corner {
		corner[i] = low + (high-low)*float64(i)/float64(c.NMels+1)
		if c.MelScale != "kaldi" {
			corner[i] = toHz(c.MelScale, corner[i])
		}
	}
	bands := make([]band, c.NMels)
	for b := range bands {
		bands[b] = triangle(c, corner[b], corner[b+1], corner[b+2])
	}
	return bands
}

// triangle is the filter from left to right with its peak in between.
func triangle(c mel.Config, left, peak, right float64) band {
	height := 1.0
	if c.MelNorm == "slaney" { // an area of 1
		height = 2 / (right - left)
	}
	var b band
	for bin := range c.NFFT/2 + 1 {
		x := float64(bin) * float64(c.Rate) / float64(c.NFFT)
		if c.MelScale == "kaldi" {
			x = toMel(c.MelScale, x)
		}
		w := min((x-left)/(peak-left), (right-x)/(right-peak))
		if w <= 0 {
			continue
		}
		if b.weights == nil {
			b.first = bin
		}
		b.weights = append(b.weights, w*height)
	}
	return b
}

// toMel is Slaney's scale, linear to 1 kHz and logarithmic above, or HTK's.
func toMel(scale string, hz float64) float64 {
	switch {
	case scale != "slaney":
		return 1127 * math.Log1p(hz/700)
	case hz < 1000:
		return hz * 3 / 200
	}
	return 15 + 27*math.Log(hz/1000)/math.Log(6.4)
}

func toHz(scale string, m float64) float64 {
	switch {
	case scale != "slaney":
		return 700 * math.Expm1(m/1127)
	case m < 15:
		return m * 200 / 3
	}
	return 1000 * math.Pow(6.4, (m-15)/27)
}
