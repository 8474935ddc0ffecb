package tts

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// openSet returns a Set with espeak-ng, or skips.
func openSet(t *testing.T, o Options) *Set {
	t.Helper()
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	s := Open(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func espeakSays(text string) Utterance {
	return Utterance{Text: text, Voice: Voice{Engine: "espeak", Name: "en-us"}, Speed: 1}
}

func reason(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func TestEspeakRepeatsItself(t *testing.T) {
	s := openSet(t, Options{Jobs: 3})
	u := espeakSays("The birch canoe slid on the smooth planks.")
	want, err := s.Speak(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if seconds := float64(len(want.Samples)) / float64(want.Rate); want.Rate != 22050 || seconds < 1 || seconds > 6 {
		t.Errorf("%d Hz, %.1f s", want.Rate, seconds)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if got, err := s.Speak(t.Context(), u); err != nil || !slices.Equal(got.Samples, want.Samples) {
				t.Errorf("a repetition differs: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestEspeakParameters(t *testing.T) {
	s := openSet(t, Options{})
	base, err := s.Speak(t.Context(), espeakSays("One two three four five."))
	if err != nil {
		t.Fatal(err)
	}
	vary := func(change func(*Utterance)) (int, []int16, error) {
		u := espeakSays("One two three four five.")
		change(&u)
		p, err := s.Speak(t.Context(), u)
		return len(p.Samples), p.Samples, err
	}
	if n, _, err := vary(func(u *Utterance) { u.Speed = 2 }); err != nil || n > len(base.Samples)*3/4 {
		t.Errorf("twice as fast: %d samples of %d, %v", n, len(base.Samples), err)
	}
	for _, change := range []func(*Utterance){
		func(u *Utterance) { u.Pitch = 6 },
		func(u *Utterance) { u.Voice.Name = "en-us+f3" },
		func(u *Utterance) { u.Voice.Name = "en-gb" },
	} {
		if _, samples, err := vary(change); err != nil || slices.Equal(samples, base.Samples) {
			t.Errorf("a change is not heard: %v", err)
		}
	}
	for _, speed := range []float64{0, -1, 0.4, 2.7, math.NaN(), math.Inf(1)} {
		if _, _, err := vary(func(u *Utterance) { u.Speed = speed }); reason(err) != ReasonBadSpeed {
			t.Errorf("speed %v: %v", speed, err)
		}
	}
	for _, pitch := range []float64{-12.5, 12, math.NaN(), math.Inf(-1)} {
		if _, _, err := vary(func(u *Utterance) { u.Pitch = pitch }); reason(err) != ReasonBadPitch {
			t.Errorf("pitch %v: %v", pitch, err)
		}
	}
}

// Whatever a text looks like, it is spoken or refused and does nothing else.
func TestEspeakHostileTexts(t *testing.T) {
	t.Chdir(t.TempDir())
	s := openSet(t, Options{Jobs: 2})
	silence := map[string]string{
		"": ReasonEmpty, " \u200b ": ReasonEmpty, "...": ReasonNoLetters, "😀🎉": ReasonNoLetters,
		"bad \xff utf8": ReasonInvalidUTF8, strings.Repeat("word ", 4000): ReasonTooLong, strings.Repeat("a", 20000): ReasonTooLong,
	}
	for text, want := range silence {
		if _, err := Clean(text, 0); reason(err) != want {
			t.Errorf("Clean(%.20q): %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{
		"-w out.wav", "--help", "--version", "-f /etc/passwd", "$(touch x)", "`touch x`", "; touch x", "| touch x", "%s%n",
		"nul\x00inside", "\x1b]0;title\x07 escape", "<speak><audio src='x'/>hello</speak>", "[[h@l'oU]]", "a 😀 b", strings.Repeat("1", MaxChars/2), strings.Repeat("a", MaxChars), strings.Repeat("ha ", 160), "x\r\ny",
	} {
		clean, err := Clean(text, 0)
		if err != nil {
			t.Errorf("Clean(%.30q): %v", text, err)
			continue
		}
		if p, err := s.Speak(t.Context(), espeakSays(clean)); err != nil || len(p.Samples) == 0 {
			t.Errorf("%.30q: %d samples, %v", text, len(p.Samples), err)
		}
	}
	for _, text := range []string{"你好世界", "مرحبا بالعالم", "Привет, мир"} {
		if _, err := s.Speak(t.Context(), espeakSays(text)); reason(err) != ReasonScriptMismatch {
			t.Errorf("%q in English: %v", text, err)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("files appeared: %v, %v", left, err)
	}
}

// Brackets must be read out, not obeyed.
func TestEspeakPhonemesAreDefused(t *testing.T) {
	s := openSet(t, Options{})
	clean, err := Clean("[[h@l'oU]]", 0)
	if err != nil {
		t.Fatal(err)
	}
	read, err := s.Speak(t.Context(), espeakSays(clean))
	if err != nil {
		t.Fatal(err)
	}
	obeyed, err := s.Speak(t.Context(), espeakSays("[[h@l'oU]]"))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(read.Samples, obeyed.Samples) {
		t.Error("the phonemes were obeyed")
	}
}

func TestEspeakVoices(t *testing.T) {
	s := openSet(t, Options{})
	infos, err := s.Voices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"piper/jenny", "espeak/en-us", "espeak/de"} {
		if !slices.ContainsFunc(infos, func(i VoiceInfo) bool { return i.Voice == want && i.License != "" && i.Rate > 0 }) {
			t.Errorf("%s is not among %d voices", want, len(infos))
		}
	}
	for _, name := range []string{"xx", "en-us+nobody", "en-us+f3+f4", "EN-US", "../en", "en-us:3"} {
		u := espeakSays("hello")
		u.Voice.Name = name
		if _, err := s.Speak(t.Context(), u); err == nil || reason(err) != "" {
			t.Errorf("voice %s: %v, want a plain error", name, err)
		}
	}
	print, err := s.Fingerprint(t.Context(), Voice{Engine: "espeak", Name: "en-us"})
	if err != nil || !strings.HasPrefix(print, "espeak-ng ") || len(print) < 70 {
		t.Errorf("fingerprint %q, %v", print, err)
	}
}

func TestResolve(t *testing.T) {
	s := openSet(t, Options{Worker: "melforge-tts"})
	for name, want := range map[string]string{
		"piper": "piper/jenny", "jenny": "piper/jenny", "piper/jenny": "piper/jenny", "espeak": "espeak/en-us",
		"espeak/en-gb": "espeak/en-gb", "en-gb+f3": "espeak/en-gb+f3", "espeak/en-us+Alex": "espeak/en-us+Alex",
	} {
		if v, err := s.Resolve(t.Context(), name); err != nil || v.String() != want {
			t.Errorf("Resolve(%q) = %v, %v; want %s", name, v, err, want)
		}
	}
	for name, hint := range map[string]string{
		"jeny": "piper/jenny", "piper/jany": "piper/jenny", "espaek/en-us": "espeak/en-us", "en-uk": "did you mean espeak/",
		"espeak/en-us+nobody": "--voices=variant", "piper/jenny:3": "one speaker", "-v": "melforge voices", "": "melforge voices",
		"a/b/c": "want ENGINE/NAME", "no-such-voice-anywhere": "melforge voices",
	} {
		if v, err := s.Resolve(t.Context(), name); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("Resolve(%q) = %v, %v; want an error with %q", name, v, err, hint)
		}
	}
}

func TestCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	c := func(script string) command {
		return command{path: sh, args: []string{"-c", script}, timeout: time.Minute, maxOutput: 1000}
	}
	if out, err := c("echo fine").run(t.Context()); err != nil || string(out) != "fine\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := c("echo no such voice >&2; exit 1").run(t.Context()); err == nil || reason(err) != "" || !strings.Contains(err.Error(), "no such voice") {
		t.Errorf("exit 1: %v", err)
	}
	tries := filepath.Join(t.TempDir(), "tries")
	if _, err := c("echo x >>" + tries + "; kill -SEGV $$").run(t.Context()); reason(err) != ReasonEngineDied {
		t.Errorf("a crash: %v", err)
	}
	if b, err := os.ReadFile(tries); string(b) != "x\nx\n" {
		t.Errorf("a crash was tried %q, %v; want twice", b, err)
	}
	if _, err := c("while :; do echo too much; done").run(t.Context()); reason(err) != ReasonAudioTooLong {
		t.Errorf("endless output: %v", err)
	}
	hang := c("sleep 1000 & wait")
	hang.timeout = 20 * time.Millisecond
	if _, err := hang.run(t.Context()); reason(err) != ReasonEngineTimeout {
		t.Errorf("a hang: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c("echo fine").run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
