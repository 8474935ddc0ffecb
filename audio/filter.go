package audio

import "math"

// The design of the filter, with frequencies relative to the lower Nyquist.
const (
	stopband   = 100.0 // attenuation in dB
	transition = 0.08  // from the end of the passband to the stopband, at 1
)

// maxTable is the most coefficients that a filter keeps, 8 MiB. Every common
// pair of rates needs less; others are computed anew for each sample.
const maxTable = 1 << 20

// filter is a polyphase filter for one ratio: output m lies at input time
// m·down/up, whose fraction is one of up phases, each with its own row of taps.
type filter struct {
	ratio
	cutoff float64     // middle of the transition; 1 is the input's Nyquist
	half   float64     // half the window's length, in input samples
	beta   float64     // Kaiser's parameter
	side   int         // taps on each side of an output
	length int         // taps of a row, with zeros to whole vectors
	rows   [][]float64 // the taps of each phase; nil where they would be too many
	dots   func(dst *[4]float64, a, b []float64, stride int)
}

func newFilter(q ratio) *filter {
	lower := min(1, float64(q.up)/float64(q.down)) // lower Nyquist over the input's
	f := &filter{
		ratio:  q,
		cutoff: lower * (1 - transition/2),
		// Kaiser's two rules: length from attenuation and transition (here in
		// radians a sample), and shape from attenuation (good above 50 dB).
		half: (stopband - 7.95) / (2.285 * math.Pi * transition * lower) / 2,
		beta: 0.1102 * (stopband - 8.7),
	}
	f.side = int(math.Ceil(f.half))
	f.length = (2*f.side + dotUnit - 1) / dotUnit * dotUnit
	f.dots = bestDots()
	if q.up*f.length <= maxTable {
		f.rows = make([][]float64, q.up)
		for phase := range f.rows {
			f.rows[phase] = make([]float64, f.length)
			f.taps(f.rows[phase], phase)
		}
	}
	return f
}

// taps computes the row of a phase: weights for the inputs from side-1 before
// the output to side after it. They sum to 1, so that a constant stays itself.
func (f *filter) taps(row []float64, phase int) {
	row = row[:2*f.side]
	var sum float64
	for i := range row {
		x := float64(i-f.side+1) - float64(phase)/float64(f.up)
		row[i] = f.kernel(x)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}

// kernel is the windowed sinc at x input samples from its middle.
func (f *filter) kernel(x float64) float64 {
	u := x / f.half
	if u <= -1 || u >= 1 {
		return 0
	}
	window := bessel0(f.beta * math.Sqrt(1-u*u))
	if x == 0 {
		return window
	}
	t := math.Pi * f.cutoff * x
	return window * math.Sin(t) / t
}

// bessel0 is the modified Bessel function of the first kind and order 0:
// Σ ((x/2)^k / k!)².
func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-17; k++ {
		term *= x / (2 * k) * (x / (2 * k))
		sum += term
	}
	return sum
}

// apply filters the samples of a sound.
func (f *filter) apply(samples []int16) []int16 {
	n := len(samples)
	out := make([]int16, (n*f.up+f.down-1)/f.down)
	// Silence on both sides, so that every output has all its taps.
	in := make([]float64, n+f.length)
	for i, s := range samples {
		in[f.side-1+i] = float64(s)
	}
	done := 0
	if f.rows != nil {
		// Every phase comes once in a period of up outputs; its row serves
		// four periods at a time.
		for ; done+4*f.up <= len(out); done += 4 * f.up {
			f.fourPeriods(out[done:], in[done/f.up*f.down:])
		}
	}
	row := make([]float64, f.length)
	for m := done; m < len(out); m++ {
		at, phase := m*f.down/f.up, m*f.down%f.up
		if f.rows != nil {
			row = f.rows[phase]
		} else {
			f.taps(row, phase)
		}
		out[m] = toInt16(dot(row, in[at:]))
	}
	return out
}

// fourPeriods computes the next 4·up outputs.
func (f *filter) fourPeriods(out []int16, in []float64) {
	var sums [4]float64
	at, phase := 0, 0 // m·down divided by up, and the remainder
	for m := range f.up {
		f.dots(&sums, f.rows[phase], in[at:], f.down)
		for i, v := range sums {
			out[i*f.up+m] = toInt16(v)
		}
		phase += f.down
		at += phase / f.up
		phase %= f.up
	}
}
