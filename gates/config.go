// Package gates judges sounds after synthesis: is there speech, is it as long
// as its text suggests, is it whole. It also trims silence and levels loudness,
// where it is told to.
package gates

import (
	"fmt"
	"math"
)

// Config says what a clip must be like and what is done to it. A limit of zero
// is off, so the zero Config lets everything but an empty clip through,
// unchanged. Configs are comparable: equal ones give equal verdicts.
type Config struct {
	// MinSeconds and MaxSeconds bound the duration, after trimming.
	MinSeconds float64 `json:"min_seconds" yaml:"min_seconds"`
	MaxSeconds float64 `json:"max_seconds" yaml:"max_seconds"`
	// MinPeak rejects silence: a clip whose peak is below this part of full
	// scale, before levelling.
	MinPeak float64 `json:"min_peak" yaml:"min_peak"`
	// MinSecondsPerChar and MaxSecondsPerChar bound the pace: the seconds from
	// the first sound to the last for each letter of the text. See [Units].
	MinSecondsPerChar float64 `json:"min_seconds_per_char,omitempty" yaml:"min_seconds_per_char"`
	MaxSecondsPerChar float64 `json:"max_seconds_per_char,omitempty" yaml:"max_seconds_per_char"`
	// PaceAllowance, in seconds, is added to the longest duration that the pace
	// allows: in a very short text, one drawn-out vowel is most of the clip.
	PaceAllowance float64 `json:"pace_allowance,omitempty" yaml:"pace_allowance"`
	// MaxLeadingSilence and MaxTrailingSilence, in seconds, are judged after
	// trimming. See [SilenceDB].
	MaxLeadingSilence  float64 `json:"max_leading_silence,omitempty" yaml:"max_leading_silence"`
	MaxTrailingSilence float64 `json:"max_trailing_silence,omitempty" yaml:"max_trailing_silence"`
	// Trim cuts silence at both ends down to TrimMargin seconds.
	Trim       bool    `json:"trim,omitempty" yaml:"trim"`
	TrimMargin float64 `json:"trim_margin,omitempty" yaml:"trim_margin"`
	// MaxClipped is the largest share of clipped samples: those at full scale
	// in a run of three or more.
	MaxClipped float64 `json:"max_clipped,omitempty" yaml:"max_clipped"`
	// Loudness is the integrated loudness in LUFS (ITU-R BS.1770) that clips
	// are brought to by one gain each; -23 is broadcast's. The gain is cut
	// where the peak would pass [PeakDB], so quiet speech with high peaks stays
	// below the target. It is a number below zero.
	Loudness float64 `json:"loudness,omitempty" yaml:"loudness"`
}

// Default is what a run without wishes uses: checks only, the sound stays as
// it is. The limits lie well outside of what espeak-ng (at 80 to 450 words a
// minute) and piper were measured to do with ordinary sentences and with texts
// from "I" to "$1,234,567.89":
//
//   - duration: Whisper hears 30 s; no word is shorter than 0.1 s
//   - peak: from 0.17 for speech, and 0 where there was nothing to say
//   - pace: 0.023 to 0.21 s a letter in sentences; up to 0.55 s a digit or
//     ideograph, and 1.5 s for "W" alone at 80 words a minute
//   - silence: up to 0.09 s before the speech and 1 s (80 words a minute) after
//   - clipping: none; speech amplified until it clips has twice the limit at
//     6 dB too much and eight times at 8 dB
func Default() Config {
	return Config{
		MinSeconds: 0.1, MaxSeconds: 30, MinPeak: 0.005,
		MinSecondsPerChar: 0.02, MaxSecondsPerChar: 0.35, PaceAllowance: 1.5,
		MaxLeadingSilence: 2, MaxTrailingSilence: 2,
		TrimMargin: 0.05,
		MaxClipped: 0.001,
	}
}

// Validate reports the first field that makes no sense.
func (c Config) Validate() error {
	for _, f := range []struct {
		name       string
		value, max float64
	}{
		{"min_seconds", c.MinSeconds, math.MaxFloat64},
		{"max_seconds", c.MaxSeconds, math.MaxFloat64},
		{"min_peak", c.MinPeak, 1},
		{"min_seconds_per_char", c.MinSecondsPerChar, math.MaxFloat64},
		{"max_seconds_per_char", c.MaxSecondsPerChar, math.MaxFloat64},
		{"pace_allowance", c.PaceAllowance, math.MaxFloat64},
		{"max_leading_silence", c.MaxLeadingSilence, math.MaxFloat64},
		{"max_trailing_silence", c.MaxTrailingSilence, math.MaxFloat64},
		{"trim_margin", c.TrimMargin, math.MaxFloat64},
		{"max_clipped", c.MaxClipped, 1},
	} {
		if !(f.value >= 0 && f.value <= f.max) {
			return fmt.Errorf("gates: %s is %g: give a number from 0 (off) to %g", f.name, f.value, f.max)
		}
	}
	switch {
	case c.MaxSeconds > 0 && c.MaxSeconds <= c.MinSeconds:
		return fmt.Errorf("gates: max_seconds (%g) must be above min_seconds (%g)", c.MaxSeconds, c.MinSeconds)
	case c.MaxSecondsPerChar > 0 && c.MaxSecondsPerChar <= c.MinSecondsPerChar:
		return fmt.Errorf("gates: max_seconds_per_char (%g) must be above min_seconds_per_char (%g)", c.MaxSecondsPerChar, c.MinSecondsPerChar)
	case !(c.Loudness <= 0 && c.Loudness > LoudnessFloor):
		return fmt.Errorf("gates: loudness is %g: give LUFS above %g and below 0, or 0 for off", c.Loudness, LoudnessFloor)
	}
	return nil
}

// MaxSamples is the most samples at that rate that a clip may have after
// MaxSeconds, and after another limit if that is above zero. Zero means that
// nothing limits it.
func (c Config) MaxSamples(rate, most int) int {
	if c.MaxSeconds <= 0 || c.MaxSeconds >= math.MaxInt32 {
		return max(most, 0)
	}
	// A product may be rounded up; clips are judged by the quotient.
	n := int(c.MaxSeconds * float64(rate))
	for float64(n)/float64(rate) > c.MaxSeconds {
		n--
	}
	if most > 0 {
		n = min(n, most)
	}
	return n
}
