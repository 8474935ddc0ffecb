package tts

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// The recipes that people copy work, as far as their programs are here.
func TestRecipes(t *testing.T) {
	c, err := ReadVoices("testdata/voices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Exec)) {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.Exec[name].Command[0]); err != nil {
				t.Skip(err)
			}
			if testing.Short() {
				t.Skip("runs other programs: not with -short")
			}
			t.Setenv("TMPDIR", t.TempDir())
			testRecipe(t, open(t, Options{Configured: c, Log: func(line string) { t.Error(line) }}), Voice{Engine: "exec", Name: name})
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func testRecipe(t *testing.T, s *Set, v Voice) {
	u := Utterance{Text: "The birch canoe slid on the smooth planks.", Voice: v, Speed: 1}
	first, err := s.Speak(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if want := s.o.Configured.Exec[v.Name].Rate; first.Rate != want || first.Seconds() < 1.5 || first.Seconds() > 6 {
		t.Errorf("%.2f s at %d Hz, want %d Hz", first.Seconds(), first.Rate, want)
	}
	if again, err := s.Speak(t.Context(), u); err != nil || !slices.Equal(again.Samples, first.Samples) {
		t.Errorf("it does not repeat itself: %v", err)
	}
	u.Speed = 1.5
	fast, err := s.Speak(t.Context(), u)
	if s.o.Configured.Exec[v.Name].has("{stretch}", "{percent}", "{speed}") {
		if err != nil || fast.Seconds() > 0.85*first.Seconds() || fast.Seconds() < 0.5*first.Seconds() {
			t.Errorf("%.2f s at speed 1.5, %.2f s at 1, %v", fast.Seconds(), first.Seconds(), err)
		}
	} else if reason(err) != ReasonBadSpeed {
		t.Errorf("speed 1.5: %v, want %s", err, ReasonBadSpeed)
	}
	for _, text := range []string{"-o x --help", "$(touch x); `id`", "\"quoted\" (parens) 'single'", "a 😀 b"} {
		if _, err := s.Speak(t.Context(), Utterance{Text: text, Voice: v, Speed: 1}); err != nil && reason(err) == "" {
			t.Errorf("%q: %v is no refusal", text, err)
		}
	}
}
