//go:build !amd64

package audio

func sums(samples []int16) (peak, energy int64) { return sumsPlain(samples) }
