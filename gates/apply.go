package gates

import (
	"fmt"
	"math"

	"github.com/melforge/melforge/audio"
)

// Facts are what was measured of a clip, after trimming and levelling unless
// said otherwise. They are rounded, so that they print short and alike.
type Facts struct {
	Samples int     `json:"samples"`
	Peak    float64 `json:"peak"`     // part of full scale
	RMS     float64 `json:"rms"`      // part of full scale
	LUFS    float64 `json:"loudness"` // integrated, see [Loudness]
	// Seconds of silence at the ends.
	LeadingSilence  float64 `json:"leading_silence"`
	TrailingSilence float64 `json:"trailing_silence"`
	Clipped         float64 `json:"clipped"`        // share of samples, before levelling
	Trimmed         int     `json:"trimmed"`        // samples cut off, at both ends together
	Gain            float64 `json:"gain,omitempty"` // applied, in dB
}

// Reasons for which a clip is refused. They are stored with datasets and do not
// change.
const (
	NoAudio        = "no-audio"         // no samples, or no sample rate
	Silent         = "silent"           // peak below Config.MinPeak
	Clipped        = "clipped"          // more than Config.MaxClipped at full scale
	TooShort       = "too-short"        // under Config.MinSeconds
	TooLong        = "too-long"         // over Config.MaxSeconds
	SilenceTooLong = "silence-too-long" // at the beginning or the end
	Pace           = "pace"             // too fast or too slow for the text
)

// Reject is the verdict on a clip that did not pass.
type Reject struct {
	Reason string `json:"reason"` // one of the constants
	Detail string `json:"detail"` // what was measured and what the limit is
}

// Error makes a Reject an error, for callers that return one.
func (r *Reject) Error() string { return r.Reason + ": " + r.Detail }

func reject(reason, format string, args ...any) *Reject {
	return &Reject{reason, fmt.Sprintf(format, args...)}
}

// Apply trims, judges and levels a clip that speaks text, in this order, so
// that a verdict does not depend on the level. An empty text, of a recording
// that has none, has no pace. Equal arguments give equal results.
//
// The result has p's rate and never more samples than p; it may share them, and
// p's are never written to. Where there is a Reject the result is p itself, for
// a listener to find out why.
func (c Config) Apply(p audio.PCM, text string) (audio.PCM, Facts, *Reject) {
	if len(p.Samples) == 0 {
		return p, Facts{LUFS: LoudnessFloor}, reject(NoAudio, "no samples at all")
	}
	if p.Rate <= 0 {
		return p, Facts{LUFS: LoudnessFloor}, reject(NoAudio, "a sample rate of %d", p.Rate)
	}
	m := audio.Measure(p)
	from, to := bounds(p.Samples, m.Peak)
	out := p
	if c.Trim && from < to {
		out, from, to = trim(p, from, to, c.TrimMargin)
	}
	f := Facts{
		Samples:         len(out.Samples),
		LeadingSilence:  float64(from) / float64(p.Rate),
		TrailingSilence: float64(len(out.Samples)-to) / float64(p.Rate),
		Clipped:         clipped(out.Samples, m.Peak),
		Trimmed:         len(p.Samples) - len(out.Samples),
	}
	bad := c.judge(f, m.Peak, out.Rate, text)
	loud := Loudness(out)
	if bad == nil {
		if f.Gain = c.gain(loud, m.Peak); f.Gain != 0 {
			out = amplify(out, f.Gain)
			loud = Loudness(out)
		}
	}
	if f.Trimmed != 0 || f.Gain != 0 {
		m = audio.Measure(out)
	}
	f.Peak, f.RMS, f.LUFS = round(m.Peak, 1e6), round(m.RMS, 1e6), round(loud, 1e2)
	f.LeadingSilence, f.TrailingSilence = round(f.LeadingSilence, 1e6), round(f.TrailingSilence, 1e6)
	f.Clipped = round(f.Clipped, 1e6)
	if bad != nil {
		return p, f, bad
	}
	return out, f, nil
}

// judge returns the first objection to a clip, the gravest first.
func (c Config) judge(f Facts, peak float64, rate int, text string) *Reject {
	seconds := float64(f.Samples) / float64(rate)
	spoken := seconds - f.LeadingSilence - f.TrailingSilence
	shortest, longest := c.spread(text)
	switch {
	case peak < c.MinPeak:
		return reject(Silent, "peak %.5f of full scale, the limit is %g", peak, c.MinPeak)
	case seconds < c.MinSeconds:
		return reject(TooShort, "%.3f s, the limit is %g s", seconds, c.MinSeconds)
	case c.MaxSeconds > 0 && seconds > c.MaxSeconds:
		return reject(TooLong, "%.3f s, the limit is %g s", seconds, c.MaxSeconds)
	case c.MaxClipped > 0 && f.Clipped > c.MaxClipped:
		return reject(Clipped, "%.3g of the samples at full scale, the limit is %g", f.Clipped, c.MaxClipped)
	case c.MaxLeadingSilence > 0 && f.LeadingSilence > c.MaxLeadingSilence:
		return reject(SilenceTooLong, "%.3f s at the beginning, the limit is %g s", f.LeadingSilence, c.MaxLeadingSilence)
	case c.MaxTrailingSilence > 0 && f.TrailingSilence > c.MaxTrailingSilence:
		return reject(SilenceTooLong, "%.3f s at the end, the limit is %g s", f.TrailingSilence, c.MaxTrailingSilence)
	case text != "" && spoken < shortest:
		return reject(Pace, "%.3f s of speech, but the text takes at least %.3f s: part of it may be missing", spoken, shortest)
	case text != "" && c.MaxSecondsPerChar > 0 && spoken > longest:
		return reject(Pace, "%.3f s of speech, but the text takes at most %.3f s: it may be spelled out or repeated", spoken, longest)
	}
	return nil
}

// gain is the number of dB that takes a clip to the wanted loudness, or to the
// highest peak allowed if that comes first. It is rounded down to hundredths,
// so that a last bit of the loudness changes nothing.
func (c Config) gain(loud, peak float64) float64 {
	if c.Loudness == 0 || loud <= LoudnessFloor || peak == 0 {
		return 0
	}
	room := PeakDB - 20*math.Log10(peak)
	return math.Floor(min(c.Loudness-loud, room)*100) / 100
}

func amplify(p audio.PCM, db float64) audio.PCM {
	factor := math.Pow(10, db/20)
	out := make([]int16, len(p.Samples))
	for i, s := range p.Samples {
		out[i] = int16(min(max(math.RoundToEven(float64(s)*factor), math.MinInt16), math.MaxInt16))
	}
	return audio.PCM{Rate: p.Rate, Samples: out}
}

func round(v, steps float64) float64 { return math.Round(v*steps) / steps }

// CheckFloat reports the first sample that is not a number or infinite, for
// engines that make floats: there is no such int16, and a conversion hides it.
func CheckFloat(samples []float32) error {
	for i, v := range samples {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("sample %d of %d is %v: the engine failed on this text", i, len(samples), v)
		}
	}
	return nil
}
