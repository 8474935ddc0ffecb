package augment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/melforge/melforge/audio"
)

// speech is bursts of a gliding tone with pauses between, about as loud as a
// voice.
func speech(rate int, seconds float64) audio.PCM {
	p := audio.PCM{Rate: rate, Samples: make([]int16, int(seconds*float64(rate)))}
	for i := range p.Samples {
		t := float64(i) / float64(rate)
		if math.Mod(t, 0.5) < 0.3 {
			p.Samples[i] = int16(math.Round(9000 * math.Sin(2*math.Pi*(300+400*math.Mod(t, 0.5))*t)))
		}
	}
	return p
}

func floats(p audio.PCM) []float64 {
	x := make([]float64, len(p.Samples))
	for i, s := range p.Samples {
		x[i] = float64(s)
	}
	return x
}

func apply(t testing.TB, p audio.PCM, d Drawn, a *Assets) audio.PCM {
	t.Helper()
	out, err := Apply(p, d, a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sine(rate int, hz float64, n int, amplitude float64) audio.PCM {
	p := audio.PCM{Rate: rate, Samples: make([]int16, n)}
	for i := range p.Samples {
		p.Samples[i] = int16(math.Round(amplitude * math.Sin(2*math.Pi*hz*float64(i)/float64(rate))))
	}
	return p
}

// rmsDB is the level of a sound's middle, where filters have settled.
func rmsDB(p audio.PCM) float64 {
	n := len(p.Samples)
	return 10 * math.Log10(max(power(floats(p)[n/4:3*n/4]), 1e-12))
}

func TestNothingDrawnIsNothingDone(t *testing.T) {
	p := speech(16000, 1)
	if out := apply(t, p, Drawn{}, nil); &out.Samples[0] != &p.Samples[0] || len(out.Samples) != len(p.Samples) {
		t.Error("another sound came back")
	}
}

func TestNoiseHasItsSNR(t *testing.T) {
	a := load(t, everything(), 16000)
	p := speech(16000, 2.2)
	for _, n := range a.noises {
		for _, snr := range []float64{-5, 0, 12.34, 30} {
			d := Drawn{Noise: Mix{Asset: n.Asset, Offset: 777, SNR: snr}}
			out := apply(t, p, d, a)
			// Undo the scaling against clipping, to find what was added.
			x, y := floats(p), floats(out)
			mixed := floats(p)
			addNoise(mixed, n.samples, 777, snr, 16000)
			scale := min(1, top/peak(mixed))
			added := make([]float64, len(x))
			for i := range x {
				added[i] = y[i]/scale - x[i]
			}
			// The bursts of the tone are all of one power.
			var burst []float64
			for i, v := range x {
				if i%8000 < 4800 {
					burst = append(burst, v)
				}
			}
			if got := 10 * math.Log10(power(burst)/power(added)); math.Abs(got-snr) > 0.1 {
				t.Errorf("%s: an SNR of %.3f dB, want %.2f", n.File, got, snr)
			}
		}
	}
}

func TestReverbKeepsPlaceAndPower(t *testing.T) {
	a := load(t, everything(), 16000)
	click := audio.PCM{Rate: 16000, Samples: make([]int16, 8000)}
	click.Samples[1000] = 20000
	for _, i := range a.impulses {
		for _, wet := range []float64{0, 0.3, 1} {
			d := Drawn{Reverb: Room{i.Asset, wet}}
			out := apply(t, click, d, a)
			loudest := 0
			for k, s := range out.Samples {
				if s > out.Samples[loudest] {
					loudest = k
				}
			}
			if loudest != 1000 || len(out.Samples) != 8000 {
				t.Errorf("%s, wet %v: the click is at %d of %d", i.File, wet, loudest, len(out.Samples))
			}
			if db := 20 * math.Log10(audio.Measure(out).RMS/audio.Measure(click).RMS); math.Abs(db) > 0.01 {
				t.Errorf("%s, wet %v: the power changed by %.3f dB", i.File, wet, db)
			}
			if same := slices.Equal(out.Samples, click.Samples); same != (wet == 0) {
				t.Errorf("%s, wet %v: equal is %v", i.File, wet, same)
			}
		}
	}
}

func TestSpeedIsExact(t *testing.T) {
	for _, rate := range []int{8000, 16000, 22050} {
		for _, hundredths := range []int{50, 90, 97, 101, 110, 200} {
			factor := float64(hundredths) / 100
			out := apply(t, sine(rate, 440, rate, 30000), Drawn{Speed: factor}, nil)
			if want := (100*rate + hundredths - 1) / hundredths; len(out.Samples) != want || out.Rate != rate {
				t.Errorf("speed %v: %d samples at %d, want %d", factor, len(out.Samples), out.Rate, want)
			}
			want := sine(rate, 440*factor, len(out.Samples), 30000)
			for i := len(out.Samples) / 4; i < len(out.Samples)*3/4; i++ {
				if diff := int(out.Samples[i]) - int(want.Samples[i]); diff < -6 || diff > 6 {
					t.Fatalf("speed %v at %d: sample %d is %d, want %d", factor, rate, i, out.Samples[i], want.Samples[i])
				}
			}
		}
	}
}

func TestBands(t *testing.T) {
	tests := []struct {
		name     string
		drawn    Drawn
		hz       float64
		min, max float64 // change in dB
	}{
		{"low pass, below", Drawn{LowPass: 3000}, 2850, -0.1, 0.1},
		{"low pass, at", Drawn{LowPass: 3000}, 3000, -6.5, -5.5},
		{"low pass, above", Drawn{LowPass: 3000}, 3150, -200, -58},
		{"low pass over Nyquist's", Drawn{LowPass: 9000}, 7900, 0, 0},
		{"telephone, hum", Drawn{Telephone: true}, 50, -200, -55},
		{"telephone, low", Drawn{Telephone: true}, 420, -0.2, 0.2},
		{"telephone, middle", Drawn{Telephone: true}, 1000, -0.2, 0.2},
		{"telephone, high", Drawn{Telephone: true}, 3280, -0.2, 0.2},
		{"telephone, above", Drawn{Telephone: true}, 5000, -200, -55},
		{"gain", Drawn{Gain: -6.02}, 1000, -6.03, -6.01},
	}
	for _, tt := range tests {
		p := sine(16000, tt.hz, 16000, 12000)
		out := apply(t, p, tt.drawn, nil)
		if got := rmsDB(out) - rmsDB(p); got < tt.min || got > tt.max || len(out.Samples) != len(p.Samples) {
			t.Errorf("%s: %.3f dB, want %v to %v", tt.name, got, tt.min, tt.max)
		}
	}
}

func TestGainDoesNotClip(t *testing.T) {
	p := speech(16000, 1)
	out := apply(t, p, Drawn{Gain: 40}, nil)
	top := slices.Max(out.Samples)
	if top != math.MaxInt16 {
		t.Errorf("the peak is %d", top)
	}
	ratio := float64(out.Samples[1234]) / float64(p.Samples[1234])
	for i, s := range p.Samples {
		if math.Abs(float64(s)*ratio-float64(out.Samples[i])) > 3 {
			t.Fatalf("sample %d went from %d to %d: not one factor", i, s, out.Samples[i])
		}
	}
}

// Many goroutines in any order make what one makes.
func TestApplyIsDeterministic(t *testing.T) {
	r := everything()
	a := load(t, r, 16000)
	p := speech(16000, 0.7)
	want := make([]audio.PCM, 40)
	for i := range want {
		want[i] = apply(t, p, Draw(r, a, 1, fmt.Sprint(i), 0), load(t, r, 16000))
	}
	var wg sync.WaitGroup
	for i := len(want) - 1; i >= 0; i-- {
		wg.Go(func() {
			out, err := Apply(p, Draw(r, a, 1, fmt.Sprint(i), 0), a)
			if err != nil || !slices.Equal(out.Samples, want[i].Samples) {
				t.Errorf("clip %d: other samples (%v)", i, err)
			}
		})
	}
	wg.Wait()
}

// The bytes are part of datasets: where this hash changes, so must algorithm.
func TestApplyGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may fuse multiplications and additions, and round a sample otherwise")
	}
	a := load(t, everything(), 16000)
	out := apply(t, speech(16000, 1), Drawn{
		Reverb: Room{a.impulses[1].Asset, 0.5}, Noise: Mix{a.noises[0].Asset, 321, 15}, LowPass: 5000, Gain: -3,
	}, a)
	sum := sha256.Sum256(wavFile(out.Rate, 1, out.Samples))
	const want = "54d357a23e3adf7a"
	if got := hex.EncodeToString(sum[:8]); got != want || algorithm != 1 {
		t.Errorf("the samples have hash %s, want %s", got, want)
	}
}

func TestApplyErrors(t *testing.T) {
	a := load(t, everything(), 16000)
	p := speech(16000, 0.1)
	for want, tt := range map[string]struct {
		sound audio.PCM
		drawn Drawn
	}{
		"noise gone.wav (hash 12) is not among": {p, Drawn{Noise: Mix{Asset: Asset{"gone.wav", "12"}}}},
		"impulse response gone.wav":             {p, Drawn{Reverb: Room{Asset: Asset{"gone.wav", "12"}}}},
		"assets of 16000":                       {speech(8000, 0.1), Drawn{Noise: Mix{Asset: a.noises[0].Asset}}},
		"speed.factor is 9":                     {p, Drawn{Speed: 9}},
		"low_pass.hz is NaN":                    {p, Drawn{LowPass: math.NaN()}},
		"noise.offset is -1":                    {p, Drawn{Noise: Mix{Offset: -1}}},
		"sample rate of 10":                     {audio.PCM{Rate: 10, Samples: p.Samples}, Drawn{Gain: 1}},
	} {
		if _, err := Apply(tt.sound, tt.drawn, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
