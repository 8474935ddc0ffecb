package augment

import (
	"fmt"
	"math"

	"github.com/melforge/melforge/audio"
)

// The rates that clips may have, those of package audio.
const (
	minRate = 1000
	maxRate = 768000
)

// top is the largest magnitude of a sample in the result.
const top = math.MaxInt16

// Apply does to p what was drawn, in the order of the fields of [Recipe]. It
// needs the assets that d was drawn with, or others that hold the same files;
// nil where d names none. Equal arguments give equal bytes, and p's samples are
// not written to.
//
// Speed divides the length, rounded up; everything else keeps it. Arithmetic is
// in float64 until the end (in 15 bits below the peak where the rate changes).
// A result that would clip is scaled down as a whole until it does not, so
// ratios such as the SNR stay.
func Apply(p audio.PCM, d Drawn, a *Assets) (audio.PCM, error) {
	if err := d.validate(); err != nil {
		return audio.PCM{}, err
	}
	if d == (Drawn{}) || len(p.Samples) == 0 {
		return p, nil
	}
	if err := checkRate(p.Rate); err != nil {
		return audio.PCM{}, err
	}
	if a == nil {
		a = new(Assets)
	}
	x, err := a.effects(p, d)
	if err != nil {
		return audio.PCM{}, err
	}
	return finish(x, d.Gain, p.Rate), nil
}

// effects does everything but the gain.
func (a *Assets) effects(p audio.PCM, d Drawn) ([]float64, error) {
	room, sound, err := a.find(d, p.Rate)
	if err != nil {
		return nil, err
	}
	x := make([]float64, len(p.Samples))
	for i, s := range p.Samples {
		x[i] = float64(s)
	}
	if d.Speed != 0 {
		x = changeSpeed(x, d.Speed, &a.bank)
	}
	if room != nil {
		x = reverberate(x, room, d.Reverb.Wet)
	}
	if sound != nil {
		addNoise(x, sound.samples, d.Noise.Offset, d.Noise.SNR, p.Rate)
	}
	if d.LowPass != 0 {
		x = lowPass(x, d.LowPass, p.Rate)
	}
	if d.Telephone {
		x = telephone(x, p.Rate, &a.bank)
	}
	return x, nil
}

func checkRate(rate int) error {
	if rate < minRate || rate > maxRate {
		return fmt.Errorf("augment: a sample rate of %d: give %d to %d", rate, minRate, maxRate)
	}
	return nil
}

// find returns the files that d names, nil where it names none.
func (a *Assets) find(d Drawn, rate int) (room *impulse, sound *noise, err error) {
	for _, i := range a.impulses {
		if i.Hash == d.Reverb.Hash {
			room = i
		}
	}
	for _, n := range a.noises {
		if n.Hash == d.Noise.Hash {
			sound = n
		}
	}
	switch {
	case d.Reverb != (Room{}) && room == nil:
		return nil, nil, missing("impulse response", d.Reverb.Asset)
	case d.Noise != (Mix{}) && sound == nil:
		return nil, nil, missing("noise", d.Noise.Asset)
	case (room != nil || sound != nil) && rate != a.rate:
		return nil, nil, fmt.Errorf("augment: a clip of %d samples a second, but assets of %d: load them at the clip's rate", rate, a.rate)
	}
	return room, sound, nil
}

func missing(kind string, f Asset) error {
	return fmt.Errorf("augment: the %s %s (hash %s) is not among the files loaded: it was removed from its folder or changed since it was drawn", kind, f.File, f.Hash)
}

// reverberate puts x into a room, with x's power.
func reverberate(x []float64, room *impulse, wet float64) []float64 {
	taps := make([]float64, len(room.taps))
	for i, v := range room.taps {
		taps[i] = wet * v
	}
	taps[room.direct] = 1
	y := filtered(x, taps, room.direct)
	before, after := power(x), power(y)
	if after == 0 {
		return x
	}
	scale := math.Sqrt(before / after)
	for i := range y {
		y[i] *= scale
	}
	return y
}

// finish brings the level to what is wanted and possible, and rounds.
func finish(x []float64, db float64, rate int) audio.PCM {
	scale := math.Pow(10, db/20)
	if p := peak(x); p*scale > top {
		scale = top / p
	}
	out := make([]int16, len(x))
	for i, v := range x {
		out[i] = int16(min(max(math.RoundToEven(v*scale), -top), top))
	}
	return audio.PCM{Rate: rate, Samples: out}
}

// headroom is the factor, 1 at most, that keeps x from clipping.
func headroom(x []float64) float64 {
	if p := peak(x); p > top {
		return top / p
	}
	return 1
}

func peak(x []float64) float64 {
	var p float64
	for _, v := range x {
		p = max(p, math.Abs(v))
	}
	return p
}

// power is the mean square.
func power(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return sum / float64(len(x))
}
