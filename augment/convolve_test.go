package augment

import (
	"math"
	"testing"
)

// direct is the convolution of x and h by its definition: len(x)+len(h)-1
// samples y[n] = Σ h[k]·x[n-k].
func direct(x, h []float64) []float64 {
	y := make([]float64, len(x)+len(h)-1)
	for i, a := range x {
		for k, b := range h {
			y[i+k] += a * b
		}
	}
	return y
}

func random(n int, seed rng) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 20000 * seed.next()
	}
	return x
}

// closeTo allows what rounding of float64 may do in a transform, a millionth of
// a step of int16 for sums as large as here.
func closeTo(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d samples, want %d", len(got), len(want))
	}
	scale := max(peak(want), 1)
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-11*scale) {
			t.Fatalf("sample %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestConvolve(t *testing.T) {
	for _, n := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {3, 5}, {1023, 2}, {1024, 1}, {5000, 117}, {117, 5000}, {900, 900}, {9000, 257}} {
		x, h := random(n[0], 1), random(n[1], 2)
		closeTo(t, convolve(x, h), direct(x, h))
	}
}

func FuzzConvolve(f *testing.F) {
	f.Add(uint16(1), uint16(1), uint64(1))
	f.Add(uint16(3000), uint16(300), uint64(2))
	f.Fuzz(func(t *testing.T, n, m uint16, seed uint64) {
		x, h := random(int(n%4000)+1, rng(seed)), random(int(m%1000)+1, rng(seed+1))
		closeTo(t, convolve(x, h), direct(x, h))
	})
}
