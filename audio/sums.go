package audio

// sumsPlain returns the largest magnitude and the sum of all squares. Both are
// exact: 2^30 a sample leaves room for 2^33 samples.
func sumsPlain(samples []int16) (peak, energy int64) {
	for _, s := range samples {
		v := int64(s)
		peak = max(peak, v, -v)
		energy += v * v
	}
	return peak, energy
}
