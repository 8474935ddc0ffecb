//go:build !amd64

package audio

// bestDots is the fastest dots that this machine can run.
func bestDots() func(dst *[4]float64, a, b []float64, stride int) { return dotsPlain }
