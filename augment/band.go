package augment

import (
	"math"
	"sync"

	"github.com/melforge/melforge/audio"
)

// The design of the filters: a sinc under a Kaiser window.
const (
	stopDB       = 60  // attenuation of the stopband
	transitionHz = 200 // from passband to stopband, half down in its middle
)

// lowPassTaps is a symmetrical filter with the cutoff in its middle. Its
// coefficients sum to 1.
func lowPassTaps(hz float64, rate int) []float64 {
	// Kaiser's rules for length and shape.
	length := (stopDB - 7.95) / (14.36 * transitionHz / float64(rate))
	side := int(math.Ceil(length / 2))
	beta := 0.1102 * (stopDB - 8.7)
	taps := make([]float64, 2*side+1)
	var sum float64
	for i := range taps {
		u := float64(i-side) / float64(side+1)
		taps[i] = bessel0(beta*math.Sqrt(1-u*u)) * sinc(2*hz/float64(rate)*float64(i-side))
		sum += taps[i]
	}
	for i := range taps {
		taps[i] /= sum
	}
	return taps
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// bessel0 is the modified Bessel function of order 0: Σ ((x/2)^k / k!)².
func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-17; k++ {
		term *= x / (2 * k) * (x / (2 * k))
		sum += term
	}
	return sum
}

// lowPass takes what lies above hz from x. Above Nyquist's frequency there is
// nothing to take.
func lowPass(x []float64, hz float64, rate int) []float64 {
	if 2*hz >= float64(rate) {
		return x
	}
	taps := lowPassTaps(hz, rate)
	return filtered(x, taps, len(taps)/2)
}

// The telephone's band and rate, after ITU-T G.711 and G.712.
const (
	lineRate = 8000
	lineLow  = 300
	lineHigh = 3400
)

// telephone sends x through a line.
func telephone(x []float64, rate int, b *bank) []float64 {
	line := b.resample(x, rate, lineRate)
	taps := lowPassTaps(lineHigh, lineRate)
	for i, v := range lowPassTaps(lineLow, lineRate) {
		taps[i] -= v
	}
	line = filtered(line, taps, len(taps)/2)
	scale := headroom(line)
	for i, v := range line {
		line[i] = float64(decodeULaw(encodeULaw(int16(math.RoundToEven(v*scale))))) / scale
	}
	return b.resample(line, lineRate, rate)[:len(x)]
}

// bank resamples from and to any rate. A Resampler remembers few filters, and
// there are as many speeds as hundredths, so each pair of rates has its own.
type bank struct {
	mu   sync.Mutex
	held map[[2]int]*audio.Resampler
}

func (b *bank) resampler(from, to int) *audio.Resampler {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.held[[2]int{from, to}]
	if r == nil {
		if b.held == nil {
			b.held = make(map[[2]int]*audio.Resampler)
		}
		r = new(audio.Resampler)
		b.held[[2]int{from, to}] = r
	}
	return r
}

// resample converts x, which it takes for a sound of 15 bits below its peak:
// that leaves the filter room to overshoot.
func (b *bank) resample(x []float64, from, to int) []float64 {
	if from == to {
		return x
	}
	// Less than a millionth of a step is what a transform leaves of silence.
	scale := 16384 / max(peak(x), 1e-6)
	in := audio.PCM{Rate: from, Samples: make([]int16, len(x))}
	for i, v := range x {
		in.Samples[i] = int16(math.RoundToEven(v * scale))
	}
	samples := b.resampler(from, to).Resample(in, to).Samples
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = float64(s) / scale
	}
	return out
}

// speedRate is the rate that a clip is taken to have after its speed changed by
// 1: only the ratio matters, and this one makes every hundredth a short filter.
const speedRate = 16000

// changeSpeed plays x faster by factor, a multiple of 0.01.
func changeSpeed(x []float64, factor float64, b *bank) []float64 {
	return b.resample(x, int(math.Round(factor*100))*speedRate/100, speedRate)
}
