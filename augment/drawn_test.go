package augment

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// everything is a recipe with every effect, each in half of the clips.
func everything() Recipe {
	return Recipe{
		Speed:     Speed{0.5, Range{0.9, 1.1}},
		Reverb:    Reverb{0.5, "testdata/rooms", Range{0.2, 1}},
		Noise:     Noise{0.5, "testdata/noise", Range{5, 20}},
		LowPass:   LowPass{0.5, Range{2500, 7000}},
		Telephone: Telephone{0.5},
		Gain:      Gain{0.5, Range{-12, 3}},
	}
}

func load(t testing.TB, r Recipe, rate int) *Assets {
	t.Helper()
	a, err := LoadAssets(r, rate, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// These draws are part of datasets: they must be the same in every release.
func TestDrawGolden(t *testing.T) {
	r := everything()
	a := load(t, r, 16000)
	for version, want := range []string{
		`{"reverb":{"file":"hall.wav","hash":"36434b701b49ea9f359a95376a5918a5","wet":0.87},"telephone":true}`,
		`{"noise":{"file":"hiss.wav","hash":"7cbbd20bc86dfdfdcc270cd6c2790964","offset":9411,"snr":9.96}}`,
		`{"low_pass":3891,"gain":2.42}`,
		`{"low_pass":5064,"telephone":true,"gain":2.31}`,
		`{"speed":1.07,"low_pass":3695}`,
	} {
		got, err := json.Marshal(Draw(r, a, 7, "ferry-01", version))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("version %d is %s\nwant %s", version, got, want)
		}
	}
}

func TestDrawIsInRangeAndEven(t *testing.T) {
	const n = 20000
	r := everything()
	a := load(t, r, 16000)
	count := map[string]int{}
	var snr, speed float64
	for i := range n {
		d := Draw(r, a, 1, fmt.Sprint("clip-", i), i%3)
		if err := d.validate(); err != nil {
			t.Fatal(err)
		}
		if s := d.Speed; s != 0 {
			count["speed"]++
			speed += s
			if s < 0.9 || s > 1.1 {
				t.Fatalf("speed %v", s)
			}
		}
		if m := d.Noise; m != (Mix{}) {
			count["noise"]++
			count[m.File]++
			snr += m.SNR
			if m.SNR < 5 || m.SNR > 20 || m.Offset >= 12000 {
				t.Fatalf("%+v", m)
			}
		}
		if d.Reverb != (Room{}) {
			count["reverb"]++
			count[d.Reverb.File]++
		}
		if d.Telephone {
			count["telephone"]++
		}
	}
	// The tolerance is five standard deviations and more.
	for name, want := range map[string]float64{
		"speed": n / 2 * 20. / 21, "noise": n / 2, "reverb": n / 2, "telephone": n / 2,
		"hiss.wav": n / 6, "hum.wav": n / 6, "street/pink.WAV": n / 6, "small.wav": n / 6, "hall.wav": n / 6, "flipped-48k.wav": n / 6,
	} {
		if got := float64(count[name]); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%s was drawn %v times of %d, want about %v", name, got, n, want)
		}
	}
	if mean := snr / float64(count["noise"]); math.Abs(mean-12.5) > 0.25 {
		t.Errorf("the mean SNR is %v", mean)
	}
	if mean := speed / float64(count["speed"]); math.Abs(mean-1) > 0.005 {
		t.Errorf("the mean speed is %v", mean)
	}
}

// Switching one effect, or adding a file, leaves all other draws as they were.
func TestDrawsAreIndependent(t *testing.T) {
	r := everything()
	a := load(t, r, 16000)
	quiet := r
	quiet.Noise = Noise{}
	fewer := &Assets{rate: a.rate, noises: a.noises[1:], impulses: a.impulses}
	moved := 0
	for i := range 500 {
		id := fmt.Sprint(i)
		all := Draw(r, a, 3, id, 0)
		want := all
		want.Noise = Mix{}
		if got := Draw(quiet, a, 3, id, 0); got != want {
			t.Fatalf("without noise %+v, with it %+v", got, all)
		}
		if got := Draw(r, fewer, 3, id, 0); got != all {
			moved++
			if all.Noise.Hash != a.noises[0].Hash {
				t.Fatalf("without %s %+v, with it %+v", a.noises[0].File, got, all)
			}
		}
		if Draw(r, a, 4, id, 0) == all && Draw(r, a, 3, id, 1) == all && all != (Drawn{}) {
			t.Fatalf("neither seed nor version matter: %+v", all)
		}
	}
	if moved == 0 {
		t.Error("no clip had the first noise")
	}
}

func TestDrawnThroughJSONAndKey(t *testing.T) {
	r := everything()
	a := load(t, r, 16000)
	keys := map[string]Drawn{}
	for i := range 300 {
		d := Draw(r, a, 1, fmt.Sprint(i), 0)
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back Drawn
		if err := json.Unmarshal(b, &back); err != nil || back != d {
			t.Fatalf("%s came back as %+v, %v", b, back, err)
		}
		if old, ok := keys[d.Key()]; ok && old != d {
			t.Fatalf("%+v and %+v have one key", old, d)
		}
		keys[d.Key()] = d
	}
	if (Drawn{}).Key() != "" {
		t.Error("nothing drawn has a key")
	}
	d := Drawn{Noise: Mix{Asset: Asset{"a.wav", "00"}, SNR: 3}}
	e := d
	e.Noise.File = "renamed.wav"
	if d.Key() != e.Key() {
		t.Error("a file's name is in the key")
	}
}

func TestRecipeValidate(t *testing.T) {
	if err := everything().Validate(); err != nil {
		t.Error(err)
	}
	if err := (Recipe{}).Validate(); err != nil {
		t.Error(err)
	}
	for want, r := range map[string]Recipe{
		"speed.factor is 3":       {Speed: Speed{1, Range{1, 3}}},
		"holds no multiple":       {Speed: Speed{1, Range{1.001, 1.002}}},
		"from 1.2 to 1.1":         {Speed: Speed{1, Range{1.2, 1.1}}},
		"noise.dir is missing":    {Noise: Noise{1, "", Range{1, 2}}},
		"reverb.dir is missing":   {Reverb: Reverb{0.1, "", Range{0, 1}}},
		"gain.probability is 1.5": {Gain: Gain{1.5, Range{1, 2}}},
		"gain.db is NaN":          {Gain: Gain{1, Range{math.NaN(), 2}}},
		"low_pass.hz is 0":        {LowPass: LowPass{Probability: 1}},
		"telephone.probability":   {Telephone: Telephone{math.NaN()}},
	} {
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
