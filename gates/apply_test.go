package gates

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/melforge/melforge/audio"
)

// silence, then a tone, then silence; all in seconds.
func padded(rate int, before, sounding, after, dbfs float64) audio.PCM {
	p := audio.PCM{Rate: rate, Samples: make([]int16, int(before*float64(rate)))}
	p.Samples = append(p.Samples, tones(rate, 440, tone{sounding, dbfs}).Samples...)
	p.Samples = append(p.Samples, make([]int16, int(after*float64(rate)))...)
	return p
}

func TestReasons(t *testing.T) {
	const rate = 16000
	ok := padded(rate, 0.1, 1, 0.1, -6)
	square := audio.PCM{Rate: rate, Samples: slices.Repeat([]int16{32767, 32767, 32767, 32767, 0, 0}, 4000)}
	tests := map[string]struct {
		sound  audio.PCM
		text   string
		reason string
	}{
		"good":              {ok, "twelve letters", ""},
		"good without text": {padded(rate, 0, 20, 0, -6), "", ""},
		"no samples":        {audio.PCM{Rate: rate}, "a", NoAudio},
		"no rate":           {audio.PCM{Samples: ok.Samples}, "a", NoAudio},
		"zeros":             {audio.PCM{Rate: rate, Samples: make([]int16, rate)}, "a", Silent},
		"quiet":             {padded(rate, 0, 1, 0, -50), "a", Silent},
		"short":             {padded(rate, 0, 0.09, 0, -6), "a", TooShort},
		"long":              {padded(rate, 0, 30.1, 0, -6), "", TooLong},
		"clipped":           {square, "", Clipped},
		"late":              {padded(rate, 2.1, 1, 0, -6), "some text", SilenceTooLong},
		"early":             {padded(rate, 0, 1, 2.1, -6), "some text", SilenceTooLong},
		"fast":              {ok, string(slices.Repeat([]byte("a"), 60)), Pace},
		"slow":              {padded(rate, 0, 5, 0, -6), "No.", Pace},
		"slow, but digits":  {padded(rate, 0, 5, 0, -6), "12345", ""},
	}
	for name, tt := range tests {
		out, _, bad := Default().Apply(tt.sound, tt.text)
		switch {
		case bad == nil && tt.reason != "", bad != nil && bad.Reason != tt.reason:
			t.Errorf("%s: %v, want %q", name, bad, tt.reason)
		case !slices.Equal(out.Samples, tt.sound.Samples):
			t.Errorf("%s: the defaults changed the sound", name)
		}
		if _, _, bad := (Config{}).Apply(tt.sound, tt.text); bad != nil && bad.Reason != NoAudio {
			t.Errorf("%s: the zero Config says %v", name, bad)
		}
	}
}

func TestTrim(t *testing.T) {
	c := Default()
	c.Trim = true
	for name, tt := range map[string]struct{ before, after, wantBefore, wantAfter float64 }{
		"both":     {3, 4, 0.05, 0.05},
		"neither":  {0.01, 0.02, 0.01, 0.02},
		"only end": {0, 0.5, 0, 0.05},
	} {
		in := padded(16000, tt.before, 1, tt.after, -6)
		whole := slices.Clone(in.Samples)
		out, f, bad := c.Apply(in, "some text")
		if bad != nil {
			t.Errorf("%s: %v", name, bad)
			continue
		}
		// The tone begins and ends with samples below the threshold.
		near := func(got, want float64) bool { return math.Abs(got-want) < 0.0005 }
		if !near(f.LeadingSilence, tt.wantBefore) || !near(f.TrailingSilence, tt.wantAfter) {
			t.Errorf("%s: silence of %g and %g s is left, want %g and %g", name, f.LeadingSilence, f.TrailingSilence, tt.wantBefore, tt.wantAfter)
		}
		if f.Samples != len(out.Samples) || f.Trimmed != len(whole)-len(out.Samples) {
			t.Errorf("%s: %d samples of %d with facts %+v", name, len(out.Samples), len(whole), f)
		}
		if !slices.Equal(in.Samples, whole) {
			t.Errorf("%s: the input was written to", name)
		}
	}
}

// What follows speech is silence below 40 dB under the peak, and sound above.
func TestSilenceIsRelative(t *testing.T) {
	for _, peak := range []float64{-1, -30} {
		for under, want := range map[float64]float64{-38: 0, -42: 0.5} {
			p := tones(16000, 440, tone{1, peak}, tone{0.5, peak + under})
			if _, f, _ := (Config{}).Apply(p, ""); math.Abs(f.TrailingSilence-want) > 0.002 {
				t.Errorf("a tail %g dB under a peak of %g dBFS: %g s of silence, want %g", under, peak, f.TrailingSilence, want)
			}
		}
	}
}

func TestLevel(t *testing.T) {
	c := Default()
	c.Loudness = -23
	for _, db := range []float64{-3, -20, -40} {
		out, f, bad := c.Apply(tones(16000, 997, tone{3, db}), "")
		if bad != nil {
			t.Fatal(bad)
		}
		if got := Loudness(out); math.Abs(got+23) > lu || math.Abs(f.LUFS-got) > 0.01 {
			t.Errorf("a tone at %g dBFS has %.2f LUFS after levelling (facts %.2f)", db, got, f.LUFS)
		}
	}
	// A click far above the rest holds the gain back.
	p := tones(16000, 997, tone{3, -40})
	p.Samples[20000] = 16384
	out, f, bad := c.Apply(p, "")
	if bad != nil {
		t.Fatal(bad)
	}
	limit := math.Pow(10, PeakDB/20)
	if peak := audio.Measure(out).Peak; peak > limit || peak < 0.99*limit || f.LUFS > -30 {
		t.Errorf("peak %.4f, facts %+v: want a peak just below %.4f", peak, f, limit)
	}
}

func TestClipped(t *testing.T) {
	tests := map[string]struct {
		samples []int16
		want    float64
	}{
		"none":          {[]int16{0, 100, -100, 32766}, 0},
		"two are not":   {[]int16{0, 32767, 32767, 0}, 0},
		"three are":     {[]int16{0, 32767, 32767, 32767}, 0.75},
		"both minima":   {[]int16{-32768, -32767, -32768, 0}, 0.75},
		"a sign change": {[]int16{32767, 32767, -32768, -32768}, 0},
		"two runs":      {[]int16{32767, 32767, 32767, -32768, -32768, -32768, 0, 0}, 0.75},
		"empty":         {nil, 0},
	}
	for name, tt := range tests {
		if got := clipped(tt.samples, 1); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string][2]int{
		"":           {0, 0},
		"No. ?!":     {2, 2},
		"it's 5%":    {5, 9},
		"éé":         {2, 2},
		"e\u0301":    {1, 1},
		"日本 ok":      {4, 8},
		"\xff\xfeab": {4, 8}, // invalid bytes are read as the symbol U+FFFD
	} {
		least, most := Units(text)
		if got := [2]int{least, most}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	b, err := json.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	var back Config
	if err := json.Unmarshal(b, &back); err != nil || back != Default() {
		t.Errorf("%s came back as %+v, %v", b, back, err)
	}
	for name, c := range map[string]Config{
		"negative":   {MinSeconds: -1},
		"not number": {MaxClipped: math.NaN()},
		"over one":   {MinPeak: 1.5},
		"infinite":   {TrimMargin: math.Inf(1)},
		"order":      {MinSeconds: 2, MaxSeconds: 1},
		"pace order": {MinSecondsPerChar: 2, MaxSecondsPerChar: 1},
		"too loud":   {Loudness: 3},
		"too quiet":  {Loudness: -80},
	} {
		if c.Validate() == nil {
			t.Errorf("%s: %+v is accepted", name, c)
		}
	}
}

func TestCheckFloat(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, bad := range [][]float32{{nan}, {0, inf}, {0, 1, nan, 0}} {
		if CheckFloat(bad) == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	if err := CheckFloat([]float32{0, -1, 1, 5}); err != nil {
		t.Error(err)
	}
}
