package mel

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"
)

// TestPresetsAgainstTheirLibraries holds every preset but Whisper's to the
// output of the libraries: within 1e-4, closer than FP16 is at these values,
// wherever a library can be made to compute in float64.
func TestPresetsAgainstTheirLibraries(t *testing.T) {
	var all []struct {
		Preset, Clip   string
		Library        string
		Tolerance      float64
		Samples, Total int
		Frames         []int
	}
	readJSON(t, "testdata/presets.json", &all)
	raw, err := os.ReadFile("testdata/presets.f32")
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(raw)
	clips := map[string][]int16{
		"speech": speech(t), "noise": noise(5000, 0), "faint noise": noise(5000, 11), "square": square(3000), "short": noise(1100, 2),
	}
	for _, g := range all {
		c := preset(t, g.Preset)
		want := make([]float32, len(g.Frames)*c.NMels)
		if err := binary.Read(in, binary.LittleEndian, want); err != nil {
			t.Fatal(err)
		}
		t.Run(g.Preset+"/"+g.Library+"/"+g.Clip, func(t *testing.T) {
			if n := c.Frames(g.Samples); n != g.Total || g.Samples != len(clips[g.Clip]) {
				t.Fatalf("%d frames of %d samples, want %d", n, len(clips[g.Clip]), g.Total)
			}
			exact, _, err := Reference(c, clips[g.Clip])
			if err != nil {
				t.Fatal(err)
			}
			quick, _, err := Values(c, clips[g.Clip])
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, w := range want {
				at := g.Frames[i/c.NMels]*c.NMels + i%c.NMels
				worst = max(worst, math.Abs(exact[at]-float64(w)), math.Abs(float64(quick[at])-float64(w)))
			}
			if !(worst <= g.Tolerance) {
				t.Errorf("off by %g", worst)
			}
			t.Logf("worst difference %.1e", worst)
		})
	}
	if in.Len() != 0 {
		t.Errorf("%d golden bytes were not compared", in.Len())
	}
}
