package audio

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// noise is the integer noise that testdata/make_resample.py makes as well.
func noise(n int) []int16 {
	out := make([]int16, n)
	state := uint32(12345)
	for i := range out {
		state = state*1664525 + 1013904223
		out[i] = int16((int(state>>16) - 32768) >> 1)
	}
	return out
}

func sine(rate, n int, hz, amplitude float64) PCM {
	p := PCM{Rate: rate, Samples: make([]int16, n)}
	for i := range p.Samples {
		p.Samples[i] = toInt16(amplitude * math.Sin(2*math.Pi*hz*float64(i)/float64(rate)))
	}
	return p
}

// fit finds the sine of frequency hz in p by least squares, and returns its
// amplitude and the signal-to-noise ratio of the remainder in dB.
func fit(p PCM, hz float64) (amplitude, snr float64) {
	// Leave out the ends, where the sound begins and stops abruptly.
	edge := len(p.Samples) / 4
	var ss, sc, cc, ys, yc float64
	at := func(i int) (s, c, y float64) {
		s, c = math.Sincos(2 * math.Pi * hz * float64(i) / float64(p.Rate))
		return s, c, float64(p.Samples[i])
	}
	for i := edge; i < len(p.Samples)-edge; i++ {
		s, c, y := at(i)
		ss, sc, cc, ys, yc = ss+s*s, sc+s*c, cc+c*c, ys+y*s, yc+y*c
	}
	det := ss*cc - sc*sc
	a, b := (ys*cc-yc*sc)/det, (yc*ss-ys*sc)/det
	var signal, rest float64
	for i := edge; i < len(p.Samples)-edge; i++ {
		s, c, y := at(i)
		signal += (a*s + b*c) * (a*s + b*c)
		rest += (y - a*s - b*c) * (y - a*s - b*c)
	}
	return math.Hypot(a, b), 10 * math.Log10(signal/rest)
}

func TestResampleKeepsPassband(t *testing.T) {
	for _, tc := range []struct {
		from, to int
		hz       float64
	}{
		{22050, 16000, 100}, {22050, 16000, 1000}, {22050, 16000, 7300},
		{44100, 16000, 440}, {48000, 16000, 7300}, {24000, 16000, 3000},
		{8000, 16000, 3600}, {11025, 16000, 5000}, {16000, 44100, 7300},
		{44101, 16000, 1000}, // coprime: the filter without a table
	} {
		t.Run(fmt.Sprintf("%d-%d/%g", tc.from, tc.to, tc.hz), func(t *testing.T) {
			const amplitude = 30000
			got := Resample(sine(tc.from, tc.from/10, tc.hz, amplitude), tc.to)
			a, snr := fit(got, tc.hz)
			if dB := 20 * math.Log10(a/amplitude); math.Abs(dB) > 0.1 {
				t.Errorf("gain %.4f dB, want within 0.1", dB)
			}
			if snr < 80 {
				t.Errorf("SNR %.1f dB, want above 80", snr)
			}
		})
	}
}

func TestResampleStopsAliases(t *testing.T) {
	for _, tc := range []struct {
		from, to int
		hz       float64
	}{
		{22050, 16000, 8010}, {22050, 16000, 9000}, {22050, 16000, 10900},
		{44100, 16000, 8100}, {44100, 16000, 16000}, {48000, 16000, 20000}, {24000, 16000, 11000},
	} {
		got := Resample(sine(tc.from, tc.from/5, tc.hz, 32000), tc.to)
		got.Samples = got.Samples[len(got.Samples)/4 : 3*len(got.Samples)/4]
		// 80 dB under 32000 is 3.2: the filter's 100 dB leaves only rounding.
		if peak := Measure(got).Peak * fullScale; peak > 1 {
			t.Errorf("%d to %d: a tone of %g Hz leaves a peak of %g", tc.from, tc.to, tc.hz, peak)
		}
	}
}

// TestResampleAgainstScipy allows one unit: both round to int16 from values
// that differ by the rows' normalisation, some 1e-5 of the signal.
func TestResampleAgainstScipy(t *testing.T) {
	files, err := filepath.Glob("testdata/noise_*.s16")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			var from, to int
			if _, err := fmt.Sscanf(filepath.Base(file), "noise_%d_%d.s16", &from, &to); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := Resample(PCM{Rate: from, Samples: noise(1500)}, to)
			if got.Rate != to || len(got.Samples) != len(raw)/2 {
				t.Fatalf("%d samples at %d, want %d at %d", len(got.Samples), got.Rate, len(raw)/2, to)
			}
			differ := 0
			for i, g := range got.Samples {
				want := int16(binary.LittleEndian.Uint16(raw[2*i:]))
				if d := int(g) - int(want); d < -1 || d > 1 {
					t.Fatalf("sample %d: %d, want %d", i, g, want)
				} else if d != 0 {
					differ++
				}
			}
			t.Logf("%d of %d differ by one", differ, len(got.Samples))
		})
	}
}

func TestResampleLengths(t *testing.T) {
	var r Resampler
	for _, from := range []int{8000, 11025, 16000, 22050, 48000} {
		for n := range 50 {
			got := r.Resample(PCM{Rate: from, Samples: noise(n)}, 16000)
			if want := (n*16000 + from - 1) / from; len(got.Samples) != want {
				t.Errorf("%d samples at %d gave %d, want %d", n, from, len(got.Samples), want)
			}
		}
	}
}

func TestResampleIsSymmetrical(t *testing.T) {
	p := PCM{Rate: 22050, Samples: make([]int16, 2*441+1)}
	p.Samples[441] = 30000 // on the grid of both rates: output 320
	got := Resample(p, 16000).Samples
	back := slices.Clone(got)
	slices.Reverse(back)
	if len(got) != 641 || !slices.Equal(got, back) {
		t.Errorf("the response to a click in the middle is not symmetrical")
	}
}

func TestResampleKeepsConstantsAndClamps(t *testing.T) {
	p := PCM{Rate: 22050, Samples: slices.Repeat([]int16{math.MinInt16}, 4000)}
	got := Resample(p, 16000).Samples
	for i := 300; i < len(got)-300; i++ {
		if got[i] != math.MinInt16 {
			t.Fatalf("sample %d is %d", i, got[i])
		}
	}
	// The abrupt beginning overshoots, and must not wrap round.
	if m := slices.Max(got); m > 4000 {
		t.Errorf("a sample wrapped round to %d", m)
	}
}

func TestResamplerIsConcurrentAndForgets(t *testing.T) {
	var r Resampler
	want := Resample(PCM{Rate: 22050, Samples: noise(800)}, 16000).Samples
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r.Resample(PCM{Rate: 1000 * (i + 1), Samples: noise(100)}, 16000)
			if got := r.Resample(PCM{Rate: 22050, Samples: noise(800)}, 16000); !slices.Equal(got.Samples, want) {
				t.Error("a shared Resampler gave other samples")
			}
		})
	}
	wg.Wait()
	if len(r.filters) > maxFilters {
		t.Errorf("%d filters kept, want at most %d", len(r.filters), maxFilters)
	}
}

func TestResampleRefusesAbsurdRates(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic at a rate of 0")
		}
	}()
	Resample(PCM{Rate: 16000}, 0)
}

func BenchmarkResample(b *testing.B) {
	p := PCM{Rate: 22050, Samples: noise(5 * 22050)}
	var r Resampler
	for b.Loop() {
		r.Resample(p, 16000)
	}
	b.ReportMetric(p.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
}
