// Package augment makes variants of a clip: faster or slower, in a room, with
// noise, through a narrow band or a telephone, louder or softer.
//
// It works in two steps. Draw decides every value from the seed, the clip's id
// and the number of the variant, and from nothing else, so that neither the
// order of the work nor the number of workers shows. Apply does what was drawn.
// What lies between them, a Drawn, is stored in the manifest and is part of the
// clip's key.
package augment

import (
	"fmt"
	"math"
)

// Range is an interval, with its ends, from which values are drawn evenly.
type Range struct {
	Min float64 `json:"min" yaml:"min"`
	Max float64 `json:"max" yaml:"max"`
}

// Recipe says what may be done to a clip, and how often: each effect has its
// own probability and is drawn independently of the others. The zero Recipe
// does nothing. Recipes are comparable.
//
// The effects are applied in the order of the fields, which is that of nature:
// somebody speaks, in a room, where there is noise, into a device.
type Recipe struct {
	Speed     Speed     `json:"speed,omitzero" yaml:"speed"`
	Reverb    Reverb    `json:"reverb,omitzero" yaml:"reverb"`
	Noise     Noise     `json:"noise,omitzero" yaml:"noise"`
	LowPass   LowPass   `json:"low_pass,omitzero" yaml:"low_pass"`
	Telephone Telephone `json:"telephone,omitzero" yaml:"telephone"`
	Gain      Gain      `json:"gain,omitzero" yaml:"gain"`
}

// Speed plays a clip faster or slower, as a tape: tempo and pitch change
// together, and the length is divided by the factor.
type Speed struct {
	Probability float64 `json:"probability" yaml:"probability"`
	Factor      Range   `json:"factor" yaml:"factor"` // 0.5 to 2, in steps of 0.01
}

// Reverb puts a clip into a room, of which Dir has impulse responses as wav
// files. The direct sound stays where it is, so that transcripts with times
// stay true; the length stays, so that the last echo is cut off; and the power
// stays.
type Reverb struct {
	Probability float64 `json:"probability" yaml:"probability"`
	Dir         string  `json:"dir" yaml:"dir"`
	// Wet is the strength of everything but the direct sound: 1 is the room as
	// it was recorded, 0 no room at all. In steps of 0.01.
	Wet Range `json:"wet" yaml:"wet"`
}

// Noise adds a part of one of the wav files in Dir, repeated where it is
// shorter than the clip.
type Noise struct {
	Probability float64 `json:"probability" yaml:"probability"`
	Dir         string  `json:"dir" yaml:"dir"`
	// SNR is the ratio in dB of the speech's power, pauses not counted, to that
	// of the noise added. -40 to 100, in steps of 0.01.
	SNR Range `json:"snr" yaml:"snr"`
}

// LowPass takes away the frequencies from a cutoff on, as a cheap microphone
// does. The length stays.
type LowPass struct {
	Probability float64 `json:"probability" yaml:"probability"`
	Hz          Range   `json:"hz" yaml:"hz"` // 200 and up, in steps of 1
}

// Telephone leaves what a telephone line does: 300 to 3400 Hz, at 8000 samples
// a second in µ-law of 8 bits. Rate and length stay.
type Telephone struct {
	Probability float64 `json:"probability" yaml:"probability"`
}

// Gain changes the level. Where that would clip, the clip is made just as loud
// as it can be.
type Gain struct {
	Probability float64 `json:"probability" yaml:"probability"`
	DB          Range   `json:"db" yaml:"db"` // -60 to 60, in steps of 0.01
}

// grid is what values of one kind are drawn from: multiples of 1/steps within
// the bounds. Stored values are short that way, and filters can be shared.
type grid struct {
	name     string
	min, max float64
	steps    float64 // in 1
}

var (
	speedGrid   = grid{"speed.factor", 0.5, 2, 100}
	wetGrid     = grid{"reverb.wet", 0, 1, 100}
	snrGrid     = grid{"noise.snr", -40, 100, 100}
	lowPassGrid = grid{"low_pass.hz", 200, 384000, 1}
	gainGrid    = grid{"gain.db", -60, 60, 100}
)

// span returns the first and the last step of the grid that lie in r.
func (g grid) span(r Range) (lo, hi int64) {
	const slack = 1e-6 // 1.1 is not quite 110 hundredths
	return int64(math.Ceil(r.Min*g.steps - slack)), int64(math.Floor(r.Max*g.steps + slack))
}

// check reports a value outside of the grid's bounds. NaN is.
func (g grid) check(v float64) error {
	if !(v >= g.min && v <= g.max) {
		return fmt.Errorf("augment: %s is %g: give a number from %g to %g", g.name, v, g.min, g.max)
	}
	return nil
}

// Validate reports the first setting that makes no sense. Those of an effect
// with probability 0 do not matter.
func (r Recipe) Validate() error {
	for _, e := range []struct {
		name        string
		probability float64
		grid        grid
		values      Range
		dir         *string
	}{
		{"speed", r.Speed.Probability, speedGrid, r.Speed.Factor, nil},
		{"reverb", r.Reverb.Probability, wetGrid, r.Reverb.Wet, &r.Reverb.Dir},
		{"noise", r.Noise.Probability, snrGrid, r.Noise.SNR, &r.Noise.Dir},
		{"low_pass", r.LowPass.Probability, lowPassGrid, r.LowPass.Hz, nil},
		{"telephone", r.Telephone.Probability, grid{}, Range{}, nil},
		{"gain", r.Gain.Probability, gainGrid, r.Gain.DB, nil},
	} {
		if !(e.probability >= 0 && e.probability <= 1) {
			return fmt.Errorf("augment: %s.probability is %g: give a number from 0 to 1", e.name, e.probability)
		}
		if e.probability == 0 {
			continue
		}
		if err := e.grid.checkRange(e.values); err != nil {
			return err
		}
		if e.dir != nil && *e.dir == "" {
			return fmt.Errorf("augment: %s.dir is missing: name a folder of wav files", e.name)
		}
	}
	return nil
}

func (g grid) checkRange(r Range) error {
	for _, v := range []float64{r.Min, r.Max} {
		if err := g.check(v); err != nil {
			return err
		}
	}
	if lo, hi := g.span(r); lo > hi {
		return fmt.Errorf("augment: %s from %g to %g holds no multiple of %g", g.name, r.Min, r.Max, 1/g.steps)
	}
	return nil
}
