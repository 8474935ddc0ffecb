package audio

import "math"

// dotUnit is what the length of a dot product is a multiple of.
const dotUnit = 16

// dotsPlain is four dot products of a: with b, and with what comes one, two and
// three strides later.
func dotsPlain(dst *[4]float64, a, b []float64, stride int) {
	for i := range dst {
		dst[i] = dot(a, b[i*stride:])
	}
}

// dot is Σ a[i]·b[i] in sixteen sums, so that vectors can hold them, which are
// then added up in halves. Every other implementation does the same operations
// in the same order, and gives the same bits.
func dot(a, b []float64) float64 {
	var s [dotUnit]float64
	b = b[:len(a)]
	for ; len(a) >= dotUnit; a, b = a[dotUnit:], b[dotUnit:] {
		for i := range s {
			s[i] = math.FMA(a[i], b[i], s[i])
		}
	}
	for n := dotUnit / 2; n > 0; n /= 2 {
		for i := range n {
			s[i] += s[i+n]
		}
	}
	return s[0]
}
