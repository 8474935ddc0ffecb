package audio

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

func TestMeasure(t *testing.T) {
	for _, tc := range []struct {
		samples   []int16
		peak, rms float64
	}{
		{nil, 0, 0},
		{[]int16{0, 0}, 0, 0},
		{[]int16{-32768, -32768}, 1, 1},
		{[]int16{16384, -16384, 0, 0}, 0.5, math.Sqrt(0.125)},
	} {
		got := Measure(PCM{Rate: 16000, Samples: tc.samples})
		want := Facts{Samples: len(tc.samples), Rate: 16000, Peak: tc.peak, RMS: tc.rms}
		if math.Abs(got.RMS-want.RMS) > 1e-15 {
			t.Errorf("%v: RMS %v, want %v", tc.samples, got.RMS, want.RMS)
		}
		if got.RMS = want.RMS; got != want {
			t.Errorf("%v: got %+v, want %+v", tc.samples, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	if got := (PCM{Rate: 16000, Samples: make([]int16, 8000)}).Seconds(); got != 0.5 {
		t.Errorf("got %v, want 0.5", got)
	}
	if got := (PCM{Samples: make([]int16, 8000)}).Seconds(); got != 0 {
		t.Errorf("without a rate: %v, want 0", got)
	}
}

// TestSumsEqualThePlainOnes surrounds the samples with louder ones, so that
// reading beyond them shows.
func TestSumsEqualThePlainOnes(t *testing.T) {
	for n := range 200 {
		for name, inner := range map[string][]int16{
			"noise": noise(n), "lowest": slices.Repeat([]int16{-32768}, n), "quiet": slices.Repeat([]int16{-3}, n),
		} {
			fenced := slices.Concat(slices.Repeat([]int16{32767}, 40), inner, slices.Repeat([]int16{-32768}, 40))
			peak, energy := sums(fenced[40:][:n])
			wantPeak, wantEnergy := sumsPlain(inner)
			if peak != wantPeak || energy != wantEnergy {
				t.Fatalf("%d of %s: peak %d and energy %d, want %d and %d", n, name, peak, energy, wantPeak, wantEnergy)
			}
		}
	}
}

func FuzzSums(f *testing.F) {
	f.Add([]byte{0, 128, 255, 127})
	f.Add(bytes.Repeat([]byte{0, 128}, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		samples := decodeMono16(b)
		peak, energy := sums(samples)
		if p, e := sumsPlain(samples); p != peak || e != energy {
			t.Fatalf("peak %d and energy %d, want %d and %d", peak, energy, p, e)
		}
	})
}
