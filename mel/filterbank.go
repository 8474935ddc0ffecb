package mel

import "math"

// band is one triangular mel filter without its zeros.
type band struct {
	first   int // the FFT bin of the first weight
	weights []float64
}

// apply is the filter's output for a power spectrum.
func (b band) apply(power []float64) float64 {
	var sum float64
	for i, p := range power[b.first : b.first+len(b.weights)] {
		sum += b.weights[i] * p
	}
	return sum
}

// filterbank is c's mel filters: triangles whose corners are equally spaced in
// mels from FMin to FMax, each rising from its left neighbour's peak and
// falling to its right one's. It is Hugging Face's
// mel_filter_bank(norm="slaney", mel_scale="slaney").
func filterbank(c Config) []band {
	corner := make([]float64, c.NMels+2) // in Hz
	low, high := hzToMel(c.FMin), hzToMel(c.FMax)
	for i := range corner {
		corner[i] = melToHz(low + (high-low)*float64(i)/float64(c.NMels+1))
	}
	bands := make([]band, c.NMels)
	for m := range bands {
		bands[m] = triangle(c, corner[m], corner[m+1], corner[m+2])
	}
	return bands
}

// triangle is the filter from left to right with its peak in between, of area
// 1 in Hz.
func triangle(c Config, left, peak, right float64) band {
	var b band
	for bin := range c.NFFT/2 + 1 {
		hz := float64(bin) * float64(c.Rate) / float64(c.NFFT)
		w := min((hz-left)/(peak-left), (right-hz)/(right-peak))
		if w <= 0 {
			continue
		}
		if b.weights == nil {
			b.first = bin
		}
		b.weights = append(b.weights, w*2/(right-left))
	}
	return b
}

// Slaney's mel scale: 200/3 Hz a mel up to 1 kHz, and from there 27 mels for
// each factor of 6.4.
const (
	slaneyHz  = 200.0 / 3
	kneeHz    = 1000.0
	kneeMel   = kneeHz / slaneyHz
	kneeRatio = 6.4
	kneeSteps = 27
)

func hzToMel(hz float64) float64 {
	if hz < kneeHz {
		return hz / slaneyHz
	}
	return kneeMel + kneeSteps*math.Log(hz/kneeHz)/math.Log(kneeRatio)
}

func melToHz(mel float64) float64 {
	if mel < kneeMel {
		return mel * slaneyHz
	}
	return kneeHz * math.Pow(kneeRatio, (mel-kneeMel)/kneeSteps)
}
