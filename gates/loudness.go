package gates

import (
	"math"

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
	parts := newWeighting(p.Rate).energies(p.Samples, hop)
	blocks := make([]float64, len(parts)-hops+1)
	for i := range blocks {
		for _, e := range parts[i : i+hops] {
			blocks[i] += e
		}
		blocks[i] /= float64(hops * hop)
	}
	return blocks
}
