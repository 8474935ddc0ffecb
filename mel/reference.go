package mel

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Reference computes the log-mel spectrogram of a clip in float64: the frames,
// row-major [c.Frames(len(samples))][c.NMels], and the value of every padding
// frame. It is the twin to which faster engines are held. Whisper's, with s the
// samples over 32768, zero-padded to c.MaxSamples, mirrored at both ends, is:
//
//	X[t,k] = Σ_i window[i] · s[t·Hop - NFFT/2 + i] · exp(-2πi·k/NFFT)
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
	bands    []Band
	fft      *fourier.FFT
	frame    []float64
	spectrum []complex128
	power    []float64
}

func newReference(c Config) *reference {
	return &reference{
		cfg:      c,
		window:   c.window(),
		bands:    c.Bands(),
		fft:      fourier.NewFFT(c.NFFT),
		frame:    make([]float64, c.NFFT),
		spectrum: make([]complex128, c.NFFT/2+1),
		power:    make([]float64, c.NFFT/2+1),
	}
}

// compute fills dst, of whole frames, with the first frames of the clip, which
// must include all its real ones, and returns the padding's value.
func (r *reference) compute(dst []float64, samples []int16) (pad float64) {
	// Padding has no power.
	silence := r.cfg.log(0)
	loudest := silence
	for t := range len(dst) / r.cfg.NMels {
		row := dst[t*r.cfg.NMels : (t+1)*r.cfg.NMels]
		r.spectrumAt(samples, t)
		for b, band := range r.bands {
			row[b] = r.cfg.log(band.apply(r.power))
			loudest = max(loudest, row[b])
		}
	}
	floor := math.Inf(-1)
	if r.cfg.DynamicRange > 0 {
		floor = loudest - r.cfg.DynamicRange
	}
	scale := func(v float64) float64 { return (max(v, floor) + r.cfg.Offset) / r.cfg.Divisor }
	for i, v := range dst {
		dst[i] = scale(v)
	}
	if r.cfg.Normalize != "" {
		normalize(dst, r.cfg.NMels)
		return 0
	}
	return scale(silence)
}

// log is the logarithm that c takes of a band's output.
func (c Config) log(x float64) float64 {
	x = max(x+c.LogAdd, c.LogFloor)
	if c.Log == "ln" {
		return math.Log(x)
	}
	return math.Log10(x)
}

// spectrumAt leaves frame t's power, or magnitudes, in r.power.
func (r *reference) spectrumAt(samples []int16, t int) {
	r.fill(samples, r.cfg.start()+t*r.cfg.Hop)
	for i, w := range r.window {
		r.frame[i] *= w
	}
	r.fft.Coefficients(r.spectrum, r.frame)
	for k, x := range r.spectrum {
		r.power[k] = real(x)*real(x) + imag(x)*imag(x)
		if r.cfg.Spectrum == "magnitude" {
			r.power[k] = math.Sqrt(r.power[k] + r.cfg.SpectrumAdd)
		}
	}
}

// fill leaves in r.frame the samples of the frame that begins at start.
func (r *reference) fill(samples []int16, start int) {
	c := r.cfg
	unit := c.unit()
	for i := range r.frame {
		r.frame[i] = 0
		at := c.source(start+i, len(samples))
		if at < 0 {
			continue
		}
		r.frame[i] = float64(samples[at]) * unit
		if at > 0 {
			r.frame[i] -= c.Preemphasis * float64(samples[at-1]) * unit
		}
	}
	whole := r.frame[:c.winLength()] // where a window is shorter, it is at the front
	if c.RemoveDC {
		var sum float64
		for _, v := range whole {
			sum += v
		}
		for i := range whole {
			whole[i] -= sum / float64(len(whole))
		}
	}
	if a := c.FramePreemphasis; a != 0 {
		for i := len(whole) - 1; i > 0; i-- {
			whole[i] -= a * whole[i-1]
		}
		whole[0] -= a * whole[0]
	}
}

// normalize brings each mel to mean 0 and standard deviation 1 over the clip,
// with 1e-5 added to the deviation, as NeMo does.
func normalize(frames []float64, mels int) {
	n := float64(len(frames) / mels)
	for b := range mels {
		var sum, squares float64
		for i := b; i < len(frames); i += mels {
			sum += frames[i]
		}
		mean := sum / n
		for i := b; i < len(frames); i += mels {
			squares += (frames[i] - mean) * (frames[i] - mean)
		}
		deviation := 1e-5
		if n > 1 {
			deviation += math.Sqrt(squares / (n - 1))
		}
		for i := b; i < len(frames); i += mels {
			frames[i] = (frames[i] - mean) / deviation
		}
	}
}
