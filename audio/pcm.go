// Package audio owns samples: wav files in and out, resampling, and the
// measurements by which a clip is judged.
package audio

import "math"

// PCM is mono sound.
type PCM struct {
	Rate    int // samples a second
	Samples []int16
}

// Seconds is the sound's duration, zero where the rate is not known.
func (p PCM) Seconds() float64 {
	if p.Rate <= 0 {
		return 0
	}
	return float64(len(p.Samples)) / float64(p.Rate)
}

// fullScale is the int16 magnitude that counts as 1.0.
const fullScale = 32768

// Facts are what can be said of a sound without listening to it.
type Facts struct {
	Samples int
	Rate    int
	Peak    float64 // largest magnitude, as a fraction of full scale (32768)
	RMS     float64 // root mean square, as a fraction of full scale
}

// Measure takes the facts of p. Silence and emptiness both have peak and RMS 0.
func Measure(p PCM) Facts {
	f := Facts{Samples: len(p.Samples), Rate: p.Rate}
	peak, energy := sums(p.Samples)
	if f.Samples > 0 {
		f.Peak = float64(peak) / fullScale
		f.RMS = math.Sqrt(float64(energy)/float64(f.Samples)) / fullScale
	}
	return f
}
