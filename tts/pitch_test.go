package tts

import (
	"math"
	"testing"

	"github.com/melforge/melforge/audio"
)

// TestShift wants a tone to come out at the new pitch and the old level, and a
// voice that was asked to speak slower to come out as long as without.
func TestShift(t *testing.T) {
	const rate, hz = 22050, 300.0
	for _, semitones := range []float64{-12, -3, 0, 1, 4, 12} {
		f := newShift(semitones, new(audio.Resampler))
		factor := math.Exp2(semitones / 12)
		if got := f.speed(1) * factor; math.Abs(got-1) > 0.006 { // hundredths
			t.Errorf("%g semitones: the speed is off by %g", semitones, got)
		}
		in := audio.PCM{Rate: rate, Samples: make([]int16, int(rate*factor))}
		for i := range in.Samples {
			in.Samples[i] = int16(8000 * math.Sin(2*math.Pi*hz*float64(i)/rate))
		}
		out := f.apply(in)
		if out.Rate != rate || math.Abs(out.Seconds()-1) > 0.01 {
			t.Errorf("%g semitones: %.3f s at %d Hz, want 1 s at %d", semitones, out.Seconds(), out.Rate, rate)
		}
		crossings := 0
		for i := 1; i < len(out.Samples); i++ {
			if out.Samples[i-1] < 0 && out.Samples[i] >= 0 {
				crossings++
			}
		}
		if got, want := float64(crossings)/out.Seconds(), hz*factor; math.Abs(got/want-1) > 0.01 {
			t.Errorf("%g semitones: %g Hz, want %g", semitones, got, want)
		}
		if got, want := audio.Measure(out).RMS, audio.Measure(in).RMS; math.Abs(got/want-1) > 0.02 {
			t.Errorf("%g semitones: the level is %g, was %g", semitones, got, want)
		}
	}
}
