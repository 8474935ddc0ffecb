package augment

import (
	"math/bits"

	"gonum.org/v1/gonum/dsp/fourier"
)

// convolve is the convolution of x and h by overlap-add: len(x)+len(h)-1
// samples y[n] = Σ h[k]·x[n-k]. Neither may be empty. Its readable twin is
// direct, in the tests.
func convolve(x, h []float64) []float64 {
	out := make([]float64, len(x)+len(h)-1)
	size := blockSize(len(x), len(h))
	step := size - len(h) + 1 // new samples in a block
	fft := fourier.NewFFT(size)
	block := make([]float64, size)
	copy(block, h)
	filter := fft.Coefficients(nil, block)
	spectrum := make([]complex128, len(filter))
	for at := 0; at < len(x); at += step {
		n := copy(block, x[at:min(at+step, len(x))])
		clear(block[n:])
		fft.Coefficients(spectrum, block)
		for i, c := range filter {
			spectrum[i] *= c
		}
		fft.Sequence(block, spectrum)
		for i, v := range block[:min(size, len(out)-at)] {
			out[at+i] += v / float64(size)
		}
	}
	return out
}

// blockSize is the transform's length: a power of two, some times the filter's
// length for little overlap, and no more than the whole result needs.
func blockSize(x, h int) int {
	return min(powerOfTwo(max(1024, 4*h)), powerOfTwo(x+h-1))
}

// powerOfTwo is the smallest that is at least n, and 2 at least.
func powerOfTwo(n int) int { return 1 << max(bits.Len(uint(n-1)), 1) }

// filtered convolves x with h and keeps x's length: sample n of the result is
// the one that h[middle] brings to n.
func filtered(x, h []float64, middle int) []float64 {
	return convolve(x, h)[middle : middle+len(x)]
}
