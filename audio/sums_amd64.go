package audio

import "golang.org/x/sys/cpu"

// sumsUnit is how many samples the assembly takes at a time.
const sumsUnit = 16

// sums is [sumsPlain], faster where this machine has the vectors for it.
func sums(samples []int16) (peak, energy int64) {
	units := len(samples) / sumsUnit
	if units == 0 || !cpu.X86.HasAVX2 {
		return sumsPlain(samples)
	}
	var high, low [sumsUnit]int16
	var energies [4]int64
	sumsAVX2(&high, &low, &energies, &samples[0], units)
	peak, energy = sumsPlain(samples[units*sumsUnit:])
	for i := range high {
		peak = max(peak, int64(high[i]), -int64(low[i]))
	}
	for _, e := range energies {
		energy += e
	}
	return peak, energy
}

// sumsAVX2 leaves the largest and the smallest of every sixteenth sample, and
// parts of the sum of squares.
//
//go:noescape
func sumsAVX2(high, low *[sumsUnit]int16, energies *[4]int64, samples *int16, units int)
