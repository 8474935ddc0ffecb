package gates

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/melforge/melforge/audio"
)

func FuzzApply(f *testing.F) {
	f.Add([]byte{}, 16000, "", true, -23.0, 0.05)
	f.Add([]byte{1, 0, 255, 127, 0, 128}, 16000, "a b 1", true, -23.0, 0.0)
	f.Add(make([]byte, 4000), 4000, "…", true, -0.1, 1e300)
	f.Add(slices.Repeat([]byte{255, 127}, 9000), 0, "日", false, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, data []byte, rate int, text string, trim bool, loudness, margin float64) {
		p := audio.PCM{Rate: rate, Samples: make([]int16, len(data)/2)}
		for i := range p.Samples {
			p.Samples[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
		}
		for _, c := range []Config{Default(), {}} {
			c.Trim, c.Loudness, c.TrimMargin = trim, loudness, margin
			if c.Validate() == nil {
				checkApply(t, c, p, text)
			}
		}
	})
}

func checkApply(t *testing.T, c Config, p audio.PCM, text string) {
	before := slices.Clone(p.Samples)
	out, f, bad := c.Apply(p, text)
	if !slices.Equal(p.Samples, before) {
		t.Fatal("the input was written to")
	}
	again, f2, _ := c.Apply(p, text)
	if f != f2 || !slices.Equal(out.Samples, again.Samples) {
		t.Fatalf("twice the same gives %+v and %+v", f, f2)
	}
	if out.Rate != p.Rate || len(out.Samples) > len(p.Samples) {
		t.Fatalf("%d samples became %d", len(p.Samples), len(out.Samples))
	}
	for _, v := range []float64{f.Peak, f.RMS, f.LUFS, f.LeadingSilence, f.TrailingSilence, f.Clipped, f.Gain} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%+v", f)
		}
	}
	if f.Peak > 1 || f.LUFS < LoudnessFloor || f.LeadingSilence < 0 || f.TrailingSilence < 0 {
		t.Fatalf("%+v", f)
	}
	if bad == nil && f.Gain != 0 {
		// One step above the limit is what rounding a sample may add.
		if limit := math.Pow(10, PeakDB/20) + 1./fullScale; audio.Measure(out).Peak > limit {
			t.Fatalf("a gain of %g dB makes the peak %g", f.Gain, f.Peak)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	c := Default()
	c.Trim, c.Loudness = true, -23
	p := padded(16000, 0.3, 4.4, 0.3, -12)
	text := "The last ferry leaves the harbour at half past nine, so bring a warm coat."
	for b.Loop() {
		if _, _, bad := c.Apply(p, text); bad != nil {
			b.Fatal(bad)
		}
	}
	b.ReportMetric(p.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
}
