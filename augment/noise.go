package augment

import "math"

// Speech is what lies less than activeDB below the loudest frame.
const (
	activeDB     = 30
	frameSeconds = 0.02
)

// activePower is the mean square of the frames of 20 ms in which somebody
// speaks: pauses would make speech seem softer, the more of them there are.
func activePower(x []float64, rate int) float64 {
	size := max(int(math.Round(frameSeconds*float64(rate))), 1)
	var loudest float64
	for at := 0; at < len(x); at += size {
		loudest = max(loudest, power(x[at:min(at+size, len(x))]))
	}
	threshold := loudest * math.Pow(10, -activeDB/10.)
	var sum float64
	n := 0
	for at := 0; at < len(x); at += size {
		frame := x[at:min(at+size, len(x))]
		if p := power(frame); p >= threshold {
			sum += p * float64(len(frame))
			n += len(frame)
		}
	}
	return sum / float64(max(n, 1))
}

// addNoise adds noise to x from offset on, around its end where it must, at the
// ratio snr of x's active power to the power of what is added. Silence, on
// either side, has no ratio: then x stays as it is.
func addNoise(x []float64, noise []int16, offset int, snr float64, rate int) {
	added := make([]float64, len(x))
	at := offset % len(noise)
	for i := range added {
		added[i] = float64(noise[at])
		if at++; at == len(noise) {
			at = 0
		}
	}
	speech, hiss := activePower(x, rate), power(added)
	if speech == 0 || hiss == 0 {
		return
	}
	scale := math.Sqrt(speech / hiss / math.Pow(10, snr/10))
	for i, v := range added {
		x[i] += scale * v
	}
}
