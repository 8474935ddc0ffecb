package audio

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDotsHaveThePlainBits puts NaN around all arguments, so that reading
// beyond them shows.
func TestDotsHaveThePlainBits(t *testing.T) {
	dots := bestDots()
	r := rand.New(rand.NewPCG(1, 2))
	fenced := func(n, skip int) []float64 {
		all := make([]float64, n+64)
		for i := range all {
			all[i] = math.NaN()
		}
		inner := all[24+skip:][:n:n]
		for i := range inner {
			inner[i] = r.NormFloat64()
		}
		return inner
	}
	for _, n := range []int{16, 32, 48, 224, 1600} {
		for skip := range 9 { // unaligned
			stride := 1 + 7*skip
			a, b := fenced(n, skip), fenced(n+3*stride, skip)
			var got, want [4]float64
			dots(&got, a, b, stride)
			dotsPlain(&want, a, b, stride)
			if got != want {
				t.Errorf("%d values: %v, want %v", n, got, want)
			}
		}
	}
}

// TestResampleInParts holds that the fast path for whole periods and the plain
// one for the rest agree where they meet.
func TestResampleInParts(t *testing.T) {
	for _, to := range []int{16000, 44100} {
		long := Resample(PCM{Rate: 22050, Samples: noise(5000)}, to)
		short := Resample(PCM{Rate: 22050, Samples: noise(5000)[:900]}, to)
		safe := len(short.Samples) - to/50 // beyond, the short one's end shows
		for i := range safe {
			if long.Samples[i] != short.Samples[i] {
				t.Fatalf("to %d: sample %d is %d or %d", to, i, long.Samples[i], short.Samples[i])
			}
		}
	}
}
