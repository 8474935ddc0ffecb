package tts

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/melforge/melforge/tts/espeakdata"
)

// piperOptions builds the real worker, once for all tests that come through
// here in a parent test.
func piperOptions(t *testing.T) Options {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs melforge-tts: not with -short")
	}
	if _, err := espeakdata.Find(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	o := Options{Worker: filepath.Join(dir, "melforge-tts"), CacheDir: filepath.Join(dir, "cache"), Jobs: 2, Log: func(line string) { t.Log(line) }}
	build := exec.Command("go", "build", "-o", o.Worker, "github.com/melforge/melforge/cmd/melforge-tts")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("melforge-tts does not build: %v\n%s", err, out)
	}
	return o
}

func piperSays(text string) Utterance {
	return Utterance{Text: text, Voice: Voice{Engine: "piper", Name: "jenny"}, Speed: 1}
}

func TestPiper(t *testing.T) {
	o := piperOptions(t)
	t.Run("same bytes", func(t *testing.T) { testPiperRepeats(t, o) })
	t.Run("killer", func(t *testing.T) { testPiperKiller(t, o) })
	t.Run("refusals", func(t *testing.T) { testPiperRefusals(t, o) })
	t.Run("broken", func(t *testing.T) { testPiperBroken(t, o) })
	t.Run("cache", func(t *testing.T) { testPiperCache(t, o) })
	t.Run("file", func(t *testing.T) { testPiperFile(t, o) })
	t.Run("added", func(t *testing.T) { testAdded(t, o) })
}

func open(t *testing.T, o Options) *Set {
	s := Open(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Twice, in two processes, and two at a time.
func testPiperRepeats(t *testing.T, o Options) {
	texts := []string{"Glue the sheet to the dark blue background.", "It's easy. Isn't it? Yes!"}
	a, b := open(t, o), open(t, o)
	var want [][]int16
	for _, text := range texts {
		p, err := a.Speak(t.Context(), piperSays(text))
		if err != nil {
			t.Fatal(err)
		}
		if s := float64(len(p.Samples)) / float64(p.Rate); p.Rate != 22050 || s < 0.5 || s > 6 {
			t.Errorf("%q: %.1f s at %d Hz", text, s, p.Rate)
		}
		want = append(want, p.Samples)
	}
	var wg sync.WaitGroup
	for range 2 {
		for i, text := range texts {
			for _, s := range []*Set{a, b} {
				wg.Go(func() {
					if p, err := s.Speak(t.Context(), piperSays(text)); err != nil || !slices.Equal(p.Samples, want[i]) {
						t.Errorf("%q differs: %v", text, err)
					}
				})
			}
		}
	}
	wg.Wait()
	fast := piperSays(texts[0])
	fast.Speed = 1.5
	if p, err := a.Speak(t.Context(), fast); err != nil || len(p.Samples) > len(want[0])*4/5 {
		t.Errorf("faster: %d samples of %d, %v", len(p.Samples), len(want[0]), err)
	}
	v := fast.Voice
	x, errX := a.Fingerprint(t.Context(), v)
	y, errY := b.Fingerprint(t.Context(), v)
	if x != y || x == "" || errX != nil || errY != nil {
		t.Errorf("fingerprints %q and %q, %v, %v", x, y, errX, errY)
	}
}

// A text that takes more memory than there is dies alone.
func testPiperKiller(t *testing.T, o Options) {
	o.MemoryLimit, o.PartChars = 2<<30, 1<<20
	s := open(t, o)
	want, err := s.Speak(t.Context(), piperSays("Innocent."))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.Speak(t.Context(), piperSays(strings.Repeat("no end in sight ", 1250))); reason(err) != ReasonEngineDied {
			t.Errorf("the killer: %.200v, want %s", err, ReasonEngineDied)
		}
	})
	for range 4 {
		wg.Go(func() {
			if got, err := s.Speak(t.Context(), piperSays("Innocent.")); err != nil || !slices.Equal(got.Samples, want.Samples) {
				t.Errorf("an innocent text was harmed: %v", err)
			}
		})
	}
	wg.Wait()
}

func testPiperRefusals(t *testing.T, o Options) {
	s := open(t, o)
	high, quick := piperSays("hello"), piperSays("hello")
	high.Pitch, quick.Speed = 13, 0
	if _, err := s.Speak(t.Context(), high); reason(err) != ReasonBadPitch {
		t.Errorf("pitch: %v", err)
	}
	plain, err := s.Speak(t.Context(), piperSays("hello there, all of you"))
	if err != nil {
		t.Fatal(err)
	}
	raised := piperSays("hello there, all of you")
	raised.Pitch = 3
	if p, err := s.Speak(t.Context(), raised); err != nil || p.Rate != plain.Rate || math.Abs(p.Seconds()/plain.Seconds()-1) > 0.1 {
		t.Errorf("three semitones up it takes %.2f s instead of %.2f s, %v", p.Seconds(), plain.Seconds(), err)
	}
	if _, err := s.Speak(t.Context(), quick); reason(err) != ReasonBadSpeed {
		t.Errorf("speed: %v", err)
	}
	for _, v := range []Voice{{"piper", "nobody", ""}, {"piper", "jenny", "7"}, {"piper", "../jenny", ""}} {
		u := piperSays("hello")
		u.Voice = v
		if _, err := s.Speak(t.Context(), u); err == nil || reason(err) != "" {
			t.Errorf("voice %s: %v, want a plain error", v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Speak(ctx, piperSays("hello")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What cannot work at all is a plain error that says what to do.
func testPiperBroken(t *testing.T, o Options) {
	none, nowhere, noData, noCache := o, o, o, o
	none.Worker = ""
	nowhere.Worker = filepath.Join(t.TempDir(), "melforge-tts")
	noData.EspeakData = t.TempDir()
	noCache.CacheDir = "/proc/none"
	for want, o := range map[string]Options{"install": none, "install melforge-tts": nowhere, "no espeak-ng data": noData, "voice cache": noCache} {
		_, err := open(t, o).Speak(t.Context(), piperSays("hello"))
		if err == nil || reason(err) != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a plain error with %q", err, want)
		}
	}
}

// A damaged cache is made anew; processes that meet there agree.
func testPiperCache(t *testing.T, o Options) {
	models, err := filepath.Glob(filepath.Join(o.CacheDir, "jenny-*", "model.onnx"))
	if err != nil || len(models) != 1 {
		t.Fatalf("models in the cache: %v, %v", models, err)
	}
	if err := os.Truncate(models[0], 1000); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 2 {
		s := open(t, o)
		wg.Go(func() {
			if _, err := s.Speak(t.Context(), piperSays("Well again.")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(o.CacheDir, ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A voice in a file: jenny's own, which then speaks as jenny does.
func testPiperFile(t *testing.T, o Options) {
	dir := t.TempDir()
	path := filepath.Join(dir, "my jenny.onnx")
	models, err := filepath.Glob(filepath.Join(o.CacheDir, "jenny-*", "model.onnx"))
	if err != nil || len(models) != 1 {
		t.Fatalf("models in the cache: %v, %v", models, err)
	}
	model, err := os.ReadFile(models[0])
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(path, model)
	write(path+".json", piperConfig(t, filepath.Join(filepath.Dir(models[0]), "tokens.txt")))
	s := open(t, o)
	v, err := s.Resolve(t.Context(), "piper:"+path)
	if err != nil || !strings.HasPrefix(v.String(), "piper/my-jenny-") {
		t.Fatalf("%v, %v", v, err)
	}
	// Another process, which only has the name.
	u := piperSays("Glue the sheet to the dark blue background.")
	want, err := s.Speak(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if u.Voice, err = ParseVoice(v.String()); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, o).Speak(t.Context(), u)
	if err != nil || !slices.Equal(got.Samples, want.Samples) {
		t.Errorf("from a file jenny is another: %v", err)
	}
	if infos, err := s.Voices(t.Context()); err != nil || !slices.ContainsFunc(infos, func(i VoiceInfo) bool { return i.Voice == v.String() && i.Lang == "en-gb" }) {
		t.Errorf("%s is not listed: %v", v, err)
	}
	// A model that kills the worker is the voice's failure, not the text's.
	write(path, []byte("garbage"))
	broken, err := s.Resolve(t.Context(), "piper:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fingerprint(t.Context(), broken); err == nil || reason(err) != "" {
		t.Errorf("a broken model: %v", err)
	}
	u.Voice = broken
	if _, err := s.Speak(t.Context(), u); err == nil || reason(err) != "" {
		t.Errorf("a broken model: %v, want a plain error", err)
	}
	for _, bad := range []string{"piper:", "piper:/none.onnx", "piper:" + dir, "piper:" + path + ":3", "piper:" + path + ".json"} {
		if v, err := s.Resolve(t.Context(), bad); err == nil {
			t.Errorf("Resolve(%q) = %v", bad, v)
		}
	}
}

// piperConfig describes a voice whose phonemes are in tokens.
func piperConfig(t *testing.T, tokens string) []byte {
	t.Helper()
	b, err := os.ReadFile(tokens)
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string][]int)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndex(line, " ")
		n, err := strconv.Atoi(line[at+1:])
		if err != nil {
			t.Fatal(err)
		}
		ids[line[:at]] = []int{n}
	}
	b, err = json.Marshal(map[string]any{
		"audio": map[string]any{"sample_rate": 22050}, "espeak": map[string]any{"voice": "en-gb"}, "num_speakers": 1, "phoneme_id_map": ids,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
