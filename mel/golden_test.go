package mel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/x448/float16"
)

// tolerance is how far from Hugging Face a value may be. Its numpy path works in
// float64 but keeps the FFT's output as complex64 and the logarithm as float32:
// half a unit in the last place of 10 is 4.8e-7, a quarter of which reaches the
// result, and as much again comes from its float32 scaling.
const tolerance = 5e-7

// golden is a clip and what Hugging Face makes of it.
type golden struct {
	Name    string
	Samples int
	Frames  []int   // those in the mels file
	Mean80  float64 `json:"mean_80"`
	Max80   float64 `json:"max_80"`
	Mean128 float64 `json:"mean_128"`
	Max128  float64 `json:"max_128"`
}

// whispers are the presets that Hugging Face's extractor knows.
var whispers = []string{"whisper-80", "whisper-128"}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func preset(t testing.TB, name string) Config {
	t.Helper()
	c, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAgainstHuggingFace(t *testing.T) {
	var clips []golden
	readJSON(t, "testdata/golden.json", &clips)
	for _, name := range whispers {
		c := preset(t, name)
		raw, err := os.ReadFile(fmt.Sprintf("testdata/mels_%d.f32", c.NMels))
		if err != nil {
			t.Fatal(err)
		}
		in := bytes.NewReader(raw)
		for _, g := range clips {
			want := make([]float32, len(g.Frames)*c.NMels)
			if err := binary.Read(in, binary.LittleEndian, want); err != nil {
				t.Fatal(err)
			}
			t.Run(name+"/"+g.Name, func(t *testing.T) { compare(t, c, g, want) })
		}
		if in.Len() != 0 {
			t.Errorf("%s: %d golden bytes were not compared", name, in.Len())
		}
	}
}

// compare holds the float64 reference and its FP16 rounding to want, the golden
// frames of g, and the whole array to the golden mean and maximum.
func compare(t *testing.T, c Config, g golden, want []float32) {
	samples := signal(t, g.Name)
	if len(samples) != g.Samples {
		t.Fatalf("%d samples, but the golden clip has %d", len(samples), g.Samples)
	}
	frames, pad, err := Reference(c, samples)
	if err != nil {
		t.Fatal(err)
	}
	value := func(frame, b int) float64 {
		if i := frame*c.NMels + b; i < len(frames) {
			return frames[i]
		}
		return pad
	}
	fast, fastPad, err := Values(c, samples)
	if err != nil {
		t.Fatal(err)
	}
	worst, otherHalf := 0.0, 0
	for i, w := range want {
		frame, b := g.Frames[i/c.NMels], i%c.NMels
		v := value(frame, b)
		d := math.Abs(v - float64(w))
		if worst = max(worst, d); !(d <= tolerance) {
			t.Fatalf("frame %d, mel %d: %v, want %v", frame, b, v, w)
		}
		if half(v) != float16.Fromfloat32(w).Bits() {
			otherHalf++
		}
		quick := fastPad
		if j := frame*c.NMels + b; j < len(fast) {
			quick = fast[j]
		}
		if d := math.Abs(float64(quick) - float64(w)); d > tolerance+near {
			t.Fatalf("frame %d, mel %d: the engine gives %v, want %v", frame, b, quick, w)
		}
	}
	t.Logf("worst difference %.1e; FP16 differs in %d of %d", worst, otherHalf, len(want))
	// Where the two lie on different sides of a tie FP16 differs: rarely, and
	// mostly around 0, where FP16 is as fine as the tolerance.
	if otherHalf > 2+len(want)/1000 {
		t.Errorf("FP16 differs in %d of %d values", otherHalf, len(want))
	}
	mean, loudest := 0.0, math.Inf(-1)
	for t := range c.PaddedFrames() {
		for b := range c.NMels {
			mean += value(t, b) / float64(c.NMels*c.PaddedFrames())
			loudest = max(loudest, value(t, b))
		}
	}
	wantMean, wantMax := g.Mean80, g.Max80
	if c.NMels == 128 {
		wantMean, wantMax = g.Mean128, g.Max128
	}
	if math.Abs(mean-wantMean) > tolerance || math.Abs(loudest-wantMax) > tolerance {
		t.Errorf("mean %v and maximum %v, want %v and %v", mean, loudest, wantMean, wantMax)
	}
}

func TestFilterbankAgainstHuggingFace(t *testing.T) {
	var all map[string][]struct {
		First   int
		Weights []float64
	}
	readJSON(t, "testdata/filters.json", &all)
	for _, name := range whispers {
		c := preset(t, name)
		bands := c.Bands()
		want := all[fmt.Sprint(c.NMels)]
		if len(bands) != len(want) {
			t.Fatalf("%s: %d bands, want %d", name, len(bands), len(want))
		}
		at := func(first int, weights []float64, bin int) float64 {
			if bin < first || bin >= first+len(weights) {
				return 0
			}
			return weights[bin-first]
		}
		for b := range bands {
			for bin := range c.NFFT/2 + 1 {
				got, want := at(bands[b].First, bands[b].Weights, bin), at(want[b].First, want[b].Weights, bin)
				// Both are float64, but for the order of a few operations.
				if math.Abs(got-want) > 1e-14 {
					t.Errorf("%s: band %d, bin %d: %v, want %v", name, b, bin, got, want)
				}
			}
		}
	}
}
