package audio

import (
	"math"
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
