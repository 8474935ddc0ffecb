package gates

import (
	"math"

	"github.com/melforge/melforge/audio"
)

// SilenceDB is the level, relative to the clip's peak, below which its
// beginning and end count as silence. It is about the level of a recording's
// room and of an engine's noise, and below that of the weakest fricatives.
const SilenceDB = -40

// bounds returns the span from the first to beyond the last sample that is not
// silence. A clip of zeros has none.
func bounds(samples []int16, peak float64) (from, to int) {
	threshold := int(math.Ceil(peak * fullScale * math.Pow(10, SilenceDB/20.)))
	threshold = max(threshold, 1)
	loud := func(s int16) bool { return int(s) >= threshold || int(s) <= -threshold }
	to = len(samples)
	for from < to && !loud(samples[from]) {
		from++
	}
	for to > from && !loud(samples[to-1]) {
		to--
	}
	return from, to
}

// trim widens the span from..to by the margin and returns what lies within,
// with the span's place in it. The result shares p's samples.
func trim(p audio.PCM, from, to int, margin float64) (out audio.PCM, newFrom, newTo int) {
	m := int(min(math.Round(margin*float64(p.Rate)), float64(len(p.Samples))))
	lo, hi := max(from-m, 0), min(to+m, len(p.Samples))
	return audio.PCM{Rate: p.Rate, Samples: p.Samples[lo:hi:hi]}, from - lo, to - lo
}

// clippedRun is the shortest run of samples at full scale that counts as
// clipping: a clip that was merely raised to full scale touches it for a sample
// or two.
const clippedRun = 3

// clipped returns the share of samples that are clipped, of a sound whose peak
// is at most this part of full scale. Few come near it.
func clipped(samples []int16, peak float64) float64 {
	if len(samples) == 0 || peak*fullScale < math.MaxInt16 {
		return 0
	}
	var total, run int
	var last int16
	end := func() {
		if run >= clippedRun {
			total += run
		}
		run = 0
	}
	for _, s := range samples {
		switch {
		case s != math.MaxInt16 && s > -math.MaxInt16:
			end()
		case run > 0 && (s > 0) != (last > 0):
			end()
			run = 1
		default:
			run++
		}
		last = s
	}
	end()
	return float64(total) / float64(len(samples))
}
