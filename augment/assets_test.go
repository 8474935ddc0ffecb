package augment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadAssets(t *testing.T) {
	a := load(t, everything(), 16000)
	var names []string
	for _, n := range a.noises {
		names = append(names, n.File)
	}
	if got := strings.Join(names, " "); got != "hiss.wav hum.wav street/pink.WAV" {
		t.Errorf("noises %s", got)
	}
	// 9000 samples at 22050 are so many at 16000.
	if got := len(a.noises[2].samples); got != 6531 {
		t.Errorf("%d samples of %s", got, a.noises[2].File)
	}
	for _, i := range a.impulses {
		if i.taps[i.direct] != 1 || peak(i.taps) != 1 {
			t.Errorf("%s: the direct sound is %v, the largest %v", i.File, i.taps[i.direct], peak(i.taps))
		}
	}
	if got := a.impulses[1].direct; got != 200 {
		t.Errorf("%s: the direct sound is at %d", a.impulses[1].File, got)
	}
}

func TestLoadAssetsErrors(t *testing.T) {
	long := t.TempDir()
	if err := os.WriteFile(filepath.Join(long, "long.wav"), wavFile(8000, 1, hiss(8000*11, 1, 0)), 0o644); err != nil {
		t.Fatal(err)
	}
	noise := func(dir string) Recipe { return Recipe{Noise: Noise{1, dir, Range{0, 10}}} }
	for name, tt := range map[string]struct {
		recipe Recipe
		rate   int
		limit  int64
		want   string
	}{
		"no folder":    {noise("testdata/nowhere"), 16000, 0, "testdata/nowhere"},
		"no wavs":      {noise(t.TempDir()), 16000, 0, "no wav files"},
		"broken":       {noise("testdata/broken"), 16000, 0, "not-a-sound.wav"},
		"silent":       {noise("testdata/silent"), 16000, 0, "zeros.wav: silent"},
		"too much":     {noise("testdata/noise"), 16000, 30000, "hum.wav: the files up to this one"},
		"long impulse": {Recipe{Reverb: Reverb{1, long, Range{0, 1}}}, 16000, 0, "at most 10 s"},
		"bad rate":     {noise("testdata/noise"), 0, 0, "sample rate of 0"},
		"bad recipe":   {noise(""), 16000, 0, "noise.dir is missing"},
	} {
		if _, err := LoadAssets(tt.recipe, tt.rate, tt.limit); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
