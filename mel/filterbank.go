package mel

import "math"

// Band is one triangular mel filter without its zeros.
type Band struct {
	First   int // the FFT bin of the first weight
	Weights []float64
}

// apply is the filter's output for a power spectrum.
func (b Band) apply(power []float64) float64 {
	var sum float64
	for i, p := range power[b.First : b.First+len(b.Weights)] {
		sum += b.Weights[i] * p
	}
	return sum
}

// Bands is c's mel filters: triangles whose corners are equally spaced in
// mels from FMin to FMax, each rising from its left neighbour's peak and
// falling to its right one's. With "slaney" twice it is Hugging Face's
// mel_filter_bank(norm="slaney", mel_scale="slaney").
func (c Config) Bands() []Band {
	scale := scales[c.MelScale]
	corner := make([]float64, c.NMels+2) // on the axis where triangles are straight
	low, high := scale.toMel(c.FMin), scale.toMel(c.FMax)
	for i := range corner {
		corner[i] = low + (high-low)*float64(i)/float64(c.NMels+1)
		if !scale.straightInMels {
			corner[i] = scale.toHz(corner[i])
		}
	}
	bands := make([]Band, c.NMels)
	for m := range bands {
		bands[m] = triangle(c, corner[m], corner[m+1], corner[m+2])
	}
	return bands
}

// triangle is the filter from left to right with its peak in between.
func triangle(c Config, left, peak, right float64) Band {
	height := 1.0
	if c.MelNorm == "slaney" { // an area of 1
		height = 2 / (right - left)
	}
	scale := scales[c.MelScale]
	var b Band
	for bin := range c.NFFT/2 + 1 {
		x := float64(bin) * float64(c.Rate) / float64(c.NFFT)
		if scale.straightInMels {
			x = scale.toMel(x)
		}
		w := min((x-left)/(peak-left), (right-x)/(right-peak))
		if w <= 0 {
			continue
		}
		if b.Weights == nil {
			b.First = bin
		}
		b.Weights = append(b.Weights, w*height)
	}
	return b
}

// scale is a mel scale.
type scale struct {
	toMel, toHz    func(float64) float64
	straightInMels bool // triangles are straight over mels and not over Hz
}

var scales = map[string]scale{
	"slaney": {toMel: hzToSlaney, toHz: slaneyToHz},
	"htk":    {toMel: hzToHTK, toHz: htkToHz},
	"kaldi":  {toMel: hzToHTK, straightInMels: true},
}

// HTK's scale, and Kaldi's.
func hzToHTK(hz float64) float64  { return 1127 * math.Log1p(hz/700) }
func htkToHz(mel float64) float64 { return 700 * math.Expm1(mel/1127) }

// Slaney's mel scale: 200/3 Hz a mel up to 1 kHz, and from there 27 mels for
// each factor of 6.4.
const (
	slaneyHz  = 200.0 / 3
	kneeHz    = 1000.0
	kneeMel   = kneeHz / slaneyHz
	kneeRatio = 6.4
	kneeSteps = 27
)

func hzToSlaney(hz float64) float64 {
	if hz < kneeHz {
		return hz / slaneyHz
	}
	return kneeMel + kneeSteps*math.Log(hz/kneeHz)/math.Log(kneeRatio)
}

func slaneyToHz(mel float64) float64 {
	if mel < kneeMel {
		return mel * slaneyHz
	}
	return kneeHz * power(kneeRatio, (mel-kneeMel)/kneeSteps)
}

// power is x^y. Unlike [math.Pow], it does not use another instruction where
// the processor has it, so that tables have the same bits on all of a kind.
func power(x, y float64) float64 { return math.Exp2(y * math.Log2(x)) }
