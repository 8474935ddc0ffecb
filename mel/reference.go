package mel

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Reference computes the log-mel spectrogram of a clip in float64: the real
// frames, row-major [c.Frames(len(samples))][c.NMels], and the value of every
// padding frame. It is the twin to which faster engines are held. With s the
// samples over 32768, zero-padded to c.MaxSamples, mirrored at both ends:
//
//	X[t,k] = Σ_i hann[i] · s[t·Hop - NFFT/2 + i] · exp(-2πi·k/NFFT)
//	L[t,b] = log10(max(Σ_k filter[b,k] · |X[t,k]|², LogFloor))
//	out    = (max(L, max L - DynamicRange) + Offset) / Divisor
func Reference(c Config, samples []int16) (frames []float64, pad float64, err error) {
	if err := c.Validate(); err != nil {
		return nil, 0, err
	}
	if err := c.checkLength(len(samples)); err != nil {
		return nil, 0, err
	}
	frames = make([]float64, c.Frames(len(samples))*c.NMels)
	pad = newReference(c).compute(frames, samples)
	return frames, pad, nil
}

// reference holds the tables and the room that computing needs. It is not safe
// for concurrent use.
type reference struct {
	cfg      Config
	window   []float64
	bands    []band
	fft      *fourier.FFT
	frame    []float64
	spectrum []complex128
	power    []float64
}

func newReference(c Config) *reference {
	return &reference{
		cfg:      c,
		window:   hann(c.NFFT),
		bands:    filterbank(c),
		fft:      fourier.NewFFT(c.NFFT),
		frame:    make([]float64, c.NFFT),
		spectrum: make([]complex128, c.NFFT/2+1),
		power:    make([]float64, c.NFFT/2+1),
	}
}

// compute fills dst, of whole frames, with the first frames of the clip, which
// must include all its real ones, and returns the padding's value.
func (r *reference) compute(dst []float64, samples []int16) (pad float64) {
	// Padding has no power, so that its logarithm is the floor's.
	silence := math.Log10(r.cfg.LogFloor)
	loudest := silence
	for t := range len(dst) / r.cfg.NMels {
		row := dst[t*r.cfg.NMels : (t+1)*r.cfg.NMels]
		r.spectrumAt(samples, t)
		for b, band := range r.bands {
			row[b] = math.Log10(max(band.apply(r.power), r.cfg.LogFloor))
			loudest = max(loudest, row[b])
		}
	}
	floor := loudest - r.cfg.DynamicRange
	scale := func(v float64) float64 { return (max(v, floor) + r.cfg.Offset) / r.cfg.Divisor }
	for i, v := range dst {
		dst[i] = scale(v)
	}
	return scale(silence)
}

// spectrumAt leaves frame t's power spectrum in r.power.
func (r *reference) spectrumAt(samples []int16, t int) {
	start := t*r.cfg.Hop - r.cfg.NFFT/2
	for i, w := range r.window {
		at := mirror(start+i, r.cfg.MaxSamples())
		r.frame[i] = 0
		if at < len(samples) {
			r.frame[i] = w * float64(samples[at]) / 32768
		}
	}
	r.fft.Coefficients(r.spectrum, r.frame)
	for k, x := range r.spectrum {
		r.power[k] = real(x)*real(x) + imag(x)*imag(x)
	}
}

// mirror reflects an index into 0 to n-1 without repeating the ends.
func mirror(i, n int) int {
	if i < 0 {
		return -i
	}
	if i >= n {
		return 2*(n-1) - i
	}
	return i
}

// hann is the periodic Hann window of n points: ½ - ½cos(2πi/n).
func hann(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(n))
	}
	return w
}
