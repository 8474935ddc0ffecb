package gates

import (
	"math"
	"testing"

	"github.com/melforge/melforge/audio"
)

// tone is a sine; segments of it make the signals of EBU Tech 3341.
type tone struct{ seconds, dbfs float64 }

func tones(rate int, hz float64, parts ...tone) audio.PCM {
	p := audio.PCM{Rate: rate}
	for _, t := range parts {
		a := 32767 * math.Pow(10, t.dbfs/20)
		for range int(t.seconds * float64(rate)) {
			v := a * math.Sin(2*math.Pi*hz*float64(len(p.Samples))/float64(rate))
			p.Samples = append(p.Samples, int16(math.Round(v)))
		}
	}
	return p
}

// lu is the tolerance of EBU Tech 3341 for a loudness meter.
const lu = 0.1

// mono is what one channel has less than the two that EBU's signals have.
const mono = -3.01

func TestLoudnessOfPublishedSignals(t *testing.T) {
	tests := map[string]struct {
		hz    float64
		parts []tone
		want  float64
	}{
		"BS.1770: 997 Hz at full scale": {997, []tone{{20, 0}}, -3.01},
		"3341 case 1":                   {1000, []tone{{20, -23}}, -23 + mono},
		"3341 case 2":                   {1000, []tone{{20, -33}}, -33 + mono},
		"3341 case 3":                   {1000, []tone{{10, -36}, {60, -23}, {10, -36}}, -23 + mono},
		"3341 case 4":                   {1000, []tone{{10, -72}, {10, -36}, {60, -23}, {10, -36}, {10, -72}}, -23 + mono},
		"3341 case 5":                   {1000, []tone{{20, -26}, {20.1, -20}, {20, -26}}, -23 + mono},
	}
	for name, tt := range tests {
		for _, rate := range []int{8000, 16000, 22050, 48000} {
			if testing.Short() && rate != 16000 {
				continue
			}
			if got := Loudness(tones(rate, tt.hz, tt.parts...)); math.Abs(got-tt.want) > lu {
				t.Errorf("%s at %d Hz: %.3f LUFS, want %.2f", name, rate, got, tt.want)
			}
		}
	}
}

// The coefficients that BS.1770-4 publishes for 48 kHz, tables 1 and 2.
func TestWeightingAt48k(t *testing.T) {
	w := newWeighting(48000)
	for name, v := range map[string][2]float64{
		"shelf b0": {w.shelf.b0, 1.53512485958697}, "shelf b1": {w.shelf.b1, -2.69169618940638},
		"shelf b2": {w.shelf.b2, 1.19839281085285}, "shelf a1": {w.shelf.a1, -1.69065929318241},
		"shelf a2": {w.shelf.a2, 0.73248077421585},
		"high b0":  {w.high.b0, 1}, "high b1": {w.high.b1, -2}, "high b2": {w.high.b2, 1},
		"high a1": {w.high.a1, -1.99004745483398}, "high a2": {w.high.a2, 0.99007225036621},
	} {
		if math.Abs(v[0]-v[1]) > 1e-10 {
			t.Errorf("%s is %.14f, published is %.14f", name, v[0], v[1])
		}
	}
}

func TestLoudnessOfShortAndSilent(t *testing.T) {
	long, short := Loudness(tones(16000, 997, tone{4, -20})), Loudness(tones(16000, 997, tone{0.2, -20}))
	if math.Abs(long-short) > 0.2 {
		t.Errorf("0.2 s of a tone have %.2f LUFS, 4 s %.2f", short, long)
	}
	for name, p := range map[string]audio.PCM{
		"empty":    {Rate: 16000},
		"zeros":    {Rate: 16000, Samples: make([]int16, 16000)},
		"zeros 1":  {Rate: 16000, Samples: make([]int16, 1)},
		"low rate": tones(2000, 100, tone{1, 0}),
		"no rate":  {Samples: []int16{1, 2}},
	} {
		if got := Loudness(p); got != LoudnessFloor {
			t.Errorf("%s: %v LUFS, want the floor", name, got)
		}
	}
}

// Blocks of 400 ms begin every 100 ms, and the last one is whole.
func TestBlocks(t *testing.T) {
	for samples, want := range map[int]int{1: 1, 6399: 1, 6400: 1, 7999: 1, 8000: 2, 16000: 7, 17599: 7, 17600: 8} {
		p := audio.PCM{Rate: 16000, Samples: make([]int16, samples)}
		if got := len(blockPowers(p)); got != want {
			t.Errorf("%d samples have %d blocks, want %d", samples, got, want)
		}
	}
}
