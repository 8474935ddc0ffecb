package mel

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		c := preset(t, name)
		if c.Name != name || c.Validate() != nil {
			t.Errorf("%s is %+v, %v", name, c, c.Validate())
		}
		if whisper := slices.Contains(whispers, name); c.LikeWhisper() != whisper || whisper && (c.MaxSamples() != 480000 || c.PaddedFrames() != 3000) {
			t.Errorf("%s has %d samples and %d frames", name, c.MaxSamples(), c.PaddedFrames())
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back Config
		if err := json.Unmarshal(raw, &back); err != nil || back != c {
			t.Errorf("%s does not survive JSON: %s, %v", name, raw, err)
		}
	}
	_, err := Preset("whisper")
	if err == nil || !strings.Contains(err.Error(), `"whisper": choose one of whisper-80, whisper-128`) {
		t.Errorf("unknown preset: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"n_fft 401 ":        func(c *Config) { c.NFFT = 401 },
		"hop 0":             func(c *Config) { c.Hop = 0 },
		"n_mels -1":         func(c *Config) { c.NMels = -1 },
		"chunk_seconds 0":   func(c *Config) { c.ChunkSeconds = 0 },
		"shorter than one":  func(c *Config) { c.Rate, c.FMax, c.ChunkSeconds = 100, 50, 1 },
		"f_max 8001":        func(c *Config) { c.FMax = 8001 },
		"f_min 8000":        func(c *Config) { c.FMin = 8000 },
		"f_min NaN":         func(c *Config) { c.FMin = math.NaN() },
		`mel_scale "bark"`:  func(c *Config) { c.MelScale = "bark" },
		`window "kaiser"`:   func(c *Config) { c.Window = "kaiser" },
		`framing "valid"`:   func(c *Config) { c.Framing, c.ChunkSeconds = "valid", 0 },
		"win_length 401":    func(c *Config) { c.WinLength = 401 },
		"wants 0":           func(c *Config) { c.Framing = FramingCentre },
		"beyond what makes": func(c *Config) { c.NFFT = 1 << 20 },
		"preemphasis NaN":   func(c *Config) { c.Preemphasis = math.NaN() },
		`mel_norm ""`:       func(c *Config) { c.MelNorm = "" },
		"log_floor 0":       func(c *Config) { c.LogFloor = 0 },
		"dynamic_range NaN": func(c *Config) { c.DynamicRange = math.NaN() },
		"divisor 0 must":    func(c *Config) { c.Divisor = 0 },
		"must be one of":    func(c *Config) { c.MelScale = "" },
	} {
		c := preset(t, "whisper-80")
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q, got %v", name, err)
		}
		if _, err := NewCPU(c, 1); err == nil {
			t.Errorf("%s: NewCPU accepts it", name)
		}
		if _, _, err := Reference(c, nil); err == nil {
			t.Errorf("%s: Reference accepts it", name)
		}
	}
}

// TestFrames counts, for each length, the frames whose window holds at least
// one real sample, directly or mirrored.
func TestFrames(t *testing.T) {
	c := preset(t, "whisper-80")
	least := make([]int, c.PaddedFrames()) // the first sample that a frame touches
	for f := range least {
		least[f] = math.MaxInt
		for i := range c.NFFT {
			least[f] = min(least[f], mirror(f*c.Hop-c.NFFT/2+i, c.MaxSamples()))
		}
	}
	check := func(n int) {
		want := 0
		for _, first := range least {
			if first < n {
				want++
			}
		}
		if got := c.Frames(n); got != want {
			t.Errorf("%d samples: %d frames, want %d", n, got, want)
		}
	}
	for n := range 2000 {
		check(n)
		check(c.MaxSamples() - n)
		check(n * 241)
	}
	if got := c.Frames(-1); got != 0 {
		t.Errorf("-1 samples: %d frames", got)
	}
}
