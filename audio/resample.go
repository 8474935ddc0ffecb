package audio

import (
	"fmt"
	"sync"
)

// Resample converts p to rate once. Use a [Resampler] where there are many
// sounds: computing the filter costs as much as applying it to a few seconds.
func Resample(p PCM, rate int) PCM { return new(Resampler).Resample(p, rate) }

// Resampler converts sounds from one rate to another and remembers the filters
// it has computed. Its zero value is ready, and it is safe for concurrent use.
//
// The filter is a sinc under a Kaiser window, with its stopband 100 dB down
// from the lower of the two Nyquist frequencies on, and its passband flat up to
// 0.92 of it: 7360 Hz on the way to 16 kHz. It is symmetrical, so nothing is
// delayed, and the sound is silent before its beginning and after its end.
type Resampler struct {
	mu      sync.Mutex
	filters map[ratio]*filter
}

// ratio is that of the new rate to the old one in lowest terms: up new samples
// last as long as down old ones.
type ratio struct{ up, down int }

// Resample converts p to rate: ceil(n·rate/p.Rate) samples, sample m being the
// sound at time m/rate. Where the rates are equal it returns p itself. It panics
// on a rate that [DecodeWAV] would refuse.
func (r *Resampler) Resample(p PCM, rate int) PCM {
	for _, v := range []int{p.Rate, rate} {
		if v < minRate || v > maxRate {
			panic(fmt.Sprintf("audio: cannot resample at %d samples a second", v))
		}
	}
	if p.Rate == rate {
		return p
	}
	d := gcd(p.Rate, rate)
	f := r.filter(ratio{up: rate / d, down: p.Rate / d})
	return PCM{Rate: rate, Samples: f.apply(p.Samples)}
}

// maxFilters bounds what a Resampler remembers against a corpus of odd rates.
const maxFilters = 8

func (r *Resampler) filter(q ratio) *filter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.filters[q]; f != nil {
		return f
	}
	if r.filters == nil || len(r.filters) == maxFilters {
		r.filters = make(map[ratio]*filter)
	}
	f := newFilter(q)
	r.filters[q] = f
	return f
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Resampled is how many samples n become when they are resampled.
func Resampled(n, from, to int) int {
	d := gcd(from, to)
	up, down := to/d, from/d
	return (n*up + down - 1) / down
}
