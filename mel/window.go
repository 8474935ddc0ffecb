package mel

import "math"

// window is c's window, NFFT long: in the middle where frames are centred, as
// torch.stft has it, and at the beginning where they are not, as Kaldi has it.
func (c Config) window() []float64 {
	n := c.winLength()
	out := make([]float64, c.NFFT)
	w := out[(c.NFFT-n)/2:][:n]
	if c.Framing == FramingSnip {
		w = out[:n]
	}
	period := n
	if c.Window != "" {
		period = n - 1
	}
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(period))
		if c.Window == "povey" {
			w[i] = power(w[i], 0.85)
		}
	}
	return out
}
