package tts

import (
	"math"

	"github.com/melforge/melforge/audio"
)

// shift changes the pitch of voices that have only one: the voice speaks
// slower, and the sound is played faster by as much, as a tape is. The
// duration stays, the timbre moves with the pitch; a few semitones sound
// natural. The factor is a multiple of 1/100, so that the filters are short.
type shift struct {
	hundredths int // of the factor by which the pitch rises
	resampler  *audio.Resampler
}

// newShift is the shift by that many semitones.
func newShift(semitones float64, r *audio.Resampler) shift {
	return shift{hundredths: int(math.Round(100 * math.Exp2(semitones/12))), resampler: r}
}

// speed is what the voice is to speak at so that the result has the speed s.
func (f shift) speed(s float64) float64 { return s * 100 / float64(f.hundredths) }

// apply plays a sound faster.
func (f shift) apply(p audio.PCM) audio.PCM {
	const unit = 200 // any number that keeps both rates within the resampler's
	fast := f.resampler.Resample(audio.PCM{Rate: unit * f.hundredths, Samples: p.Samples}, unit*100)
	return audio.PCM{Rate: p.Rate, Samples: fast.Samples}
}
