package mel

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/x448/float16"

	"github.com/melforge/melforge/mel/internal/spectra"
)

// near is how far the engine may be from the float64 reference before FP16:
// half a unit in the last place of a float32 logarithm of 10, a quarter of
// which reaches Whisper's values, and the rounding of the scaling.
const near = 5e-7

// hostile are clips that are hard on arithmetic: full scale next to nothing.
func hostile(t testing.TB) map[string][]int16 {
	tone := func(n int, hz, amplitude float64) []int16 {
		return generate(n, func(i int) int { return int(math.Round(amplitude * math.Sin(2*math.Pi*hz*float64(i)/16000))) })
	}
	loudThenFaint := append(tone(8000, 440, 32767), noise(8000, 15)...)
	return map[string][]int16{
		"empty":            nil,
		"one sample":       constant(1, -32768),
		"silence":          constant(5000, 0),
		"least DC":         constant(5000, 1),
		"full DC":          constant(5000, -32768),
		"full square":      generate(16000, func(i int) int { return 32767 - 65535*(i/8%2) }),
		"Nyquist square":   generate(16000, func(i int) int { return 32767 - 65535*(i%2) }),
		"sine on a bin":    tone(16000, 1000, 32767),
		"sine off a bin":   tone(16000, 1013.7, 32767),
		"faint sine":       tone(16000, 3000, 1),
		"loud, then faint": loudThenFaint,
		"clicks":           clicks(16000),
		"noise":            noise(16000, 0),
		"faint noise":      noise(16000, 15),
		"speech":           speech(t),
	}
}

func TestValuesAreTheReference(t *testing.T) {
	for _, name := range Presets() {
		c := preset(t, name)
		for clip, samples := range hostile(t) {
			if worst := distance(t, c, samples); worst > near*4/c.Divisor {
				t.Errorf("%s, %s: off by %.2g", name, clip, worst)
			}
		}
	}
}

// distance is how far the engine's values are from the reference's.
func distance(t testing.TB, c Config, samples []int16) float64 {
	t.Helper()
	want, wantPad, err := Reference(c, samples)
	if err != nil {
		t.Fatal(err)
	}
	got, gotPad, err := Values(c, samples)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	worst := math.Abs(float64(gotPad) - wantPad)
	for i, v := range got {
		worst = max(worst, math.Abs(float64(v)-want[i]))
	}
	return worst
}

// TestEngineRoundsValues holds the stored FP16 to be the rounded float32.
func TestEngineRoundsValues(t *testing.T) {
	for _, name := range Presets() {
		c := preset(t, name)
		e := engine(t, c, 1)
		for clip, samples := range hostile(t) {
			values, pad, err := Values(c, samples)
			if err != nil {
				t.Fatal(err)
			}
			m := compute(t, e, samples)
			same := len(m.Frames) == len(values) && m.Pad == float16.Fromfloat32(pad).Bits()
			for i := range values {
				same = same && m.Frames[i] == float16.Fromfloat32(values[i]).Bits()
			}
			if !same {
				t.Errorf("%s, %s: FP16 is not the values rounded", name, clip)
			}
		}
	}
}

// TestKernelsAgree holds that every machine stores the same bits.
func TestKernelsAgree(t *testing.T) {
	for _, name := range Presets() {
		c := preset(t, name)
		plain, err := newCPU(c, 1, spectra.Plain())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range spectra.Available() {
			e, err := newCPU(c, 1, k)
			if err != nil {
				t.Fatal(err)
			}
			for clip, samples := range hostile(t) {
				if !equal(compute(t, e, samples), compute(t, plain, samples)) {
					t.Errorf("%s, %s: %s kernels give other bits than plain Go", name, clip, k.Name)
				}
			}
		}
	}
}

// FuzzValues holds every preset's values to the reference, and the kernels to
// each other. What is normalised is left out of the former: where a band hardly
// changes over the clip, the least error is blown up.
func FuzzValues(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte{255, 127}, uint8(1))
	f.Add([]byte(strings.Repeat("\x00\x80\xff\x7f", 800)), uint8(2))
	f.Add([]byte(strings.Repeat("\x01\x00", 700)), uint8(3))
	f.Add([]byte(strings.Repeat("\x01\x00\x07\xf0", 400)), uint8(4))
	f.Add([]byte(strings.Repeat("\x01\x00\x00", 900)), uint8(5))
	f.Fuzz(func(t *testing.T, raw []byte, which uint8) {
		c := presets()[int(which)%len(presets())]
		samples := generate(len(raw)/2, func(i int) int { return int(int16(binary.LittleEndian.Uint16(raw[2*i:]))) })
		if len(samples) > 20000 {
			return
		}
		if worst := distance(t, c, samples); worst > near*4/c.Divisor && c.Normalize == "" {
			t.Errorf("%s: off by %g", c.Name, worst)
		}
		var want Mel
		for i, k := range spectra.Available() {
			e, err := newCPU(c, 1, k)
			if err != nil {
				t.Fatal(err)
			}
			got := compute(t, e, samples)
			if i == 0 {
				want = got
			}
			if !equal(got, want) {
				t.Errorf("%s: %s kernels give other bits than plain Go", c.Name, k.Name)
			}
		}
	})
}
