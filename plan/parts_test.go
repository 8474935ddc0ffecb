package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// within is a limit of n characters.
func within(n int) func(string) bool {
	return func(s string) bool { return utf8.RuneCountInString(s) <= n }
}

func TestPack(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want []string
	}{
		{"One. Two.", 9, []string{"One. Two."}},
		{"One. Two. Three.", 9, []string{"One. Two.", "Three."}},
		{`"Is it?" he said. "No!" It was 3.14 then.`, 18, []string{`"Is it?" he said.`, `"No!"`, "It was 3.14 then."}},
		{"A long one, with a clause; and more. Short.", 20, []string{"A long one,", "with a clause;", "and more. Short."}},
		{"no marks at all here", 8, []string{"no marks", "at all", "here"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"これは文です。次の文です。", 7, []string{"これは文です。", "次の文です。"}},
		{"Wait… what?! Yes.", 12, []string{"Wait… what?!", "Yes."}},
	} {
		if got := pack(tt.text, 0, within(tt.most)); !slices.Equal(got, tt.want) {
			t.Errorf("%q within %d: %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// FuzzPack wants every part to fit, and all letters to be there, in order.
func FuzzPack(f *testing.F) {
	f.Add("One. Two, three; four five.", 6)
	f.Add("Wörter—ohne Ende。次の文！", 4)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 1 || most > 1000 || len(text) > 2000 || !utf8.ValidString(text) {
			return
		}
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, s)
		}
		parts := pack(text, 0, within(most))
		if got := letters(strings.Join(parts, "")); got != letters(text) {
			t.Fatalf("%q became %q", text, parts)
		}
		for _, p := range parts {
			if utf8.RuneCountInString(p) > most {
				t.Fatalf("%q within %d: %q", text, most, p)
			}
		}
	})
}

// TestSplitTexts splits a line by its sentences; each part is a line of its own.
func TestSplitTexts(t *testing.T) {
	o := options(t)
	o.Settings.MaxChars = 5000
	var long []string
	for i := range 40 {
		long = append(long, fmt.Sprintf("This is sentence number %d of a long story.", i))
	}
	lines := []corpus.Line{{Number: 1, ID: "a", Text: strings.Join(long, " ")}, {Number: 2, ID: "b", Text: "Short."}}
	if _, its := items(t, o, lines); its[0].State != manifests.StateNew || its[0].ID != "a" || len(its) != 2 {
		t.Fatalf("without split: %+v", its)
	}
	o.Settings.SplitLong = true
	_, its := items(t, o, lines)
	var texts []string
	for i, it := range its[:len(its)-1] {
		if it.State != manifests.StateNew || it.Line != 1 || it.ID != fmt.Sprintf("a#%d", i+1) {
			t.Errorf("part %d is %+v", i, it)
		}
		texts = append(texts, it.Text)
	}
	if len(texts) < 5 || strings.Join(texts, " ") != lines[0].Text || its[len(its)-1].ID != "b" {
		t.Errorf("parts are %q", texts)
	}
}

// TestSplitWavs cuts wavs above the limit that have no text, and no others.
func TestSplitWavs(t *testing.T) {
	c, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Mel: &c, Settings: manifests.Settings{Rate: 16000, ShardSize: 8, Gates: gates.Config{MaxSeconds: 30}}}
	dir := t.TempDir()
	var lines []corpus.Line
	wav := func(id string, n int, text string) {
		path := filepath.Join(dir, id+".wav")
		p := audio.PCM{Rate: 16000, Samples: make([]int16, n)}
		for i := range p.Samples {
			p.Samples[i] = int16(i*i%4001 - 2000 + len(lines))
		}
		if err := os.WriteFile(path, audio.AppendWAV(nil, p), 0o644); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, corpus.Line{Number: len(lines) + 1, ID: id, Audio: path, Text: text})
	}
	wav("below", 479999, "")
	wav("exact", 480000, "")
	wav("above", 480001, "")
	wav("text", 480001, "with a text")
	check := func(want ...string) []manifests.Item {
		t.Helper()
		_, its := items(t, o, lines)
		var ids []string
		for _, it := range its {
			ids = append(ids, it.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("ids are %q, want %q", ids, want)
		}
		return its
	}
	check("below", "exact", "above", "text")
	o.Settings.SplitLong = true
	its := check("below", "exact", "above#1", "above#2", "text")
	if again := check("below", "exact", "above#1", "above#2", "text"); again[2].Key != its[2].Key || its[2].Key == its[3].Key {
		t.Error("parts have no keys of their own, or others each time")
	}
	o.Settings.Gates.MaxSeconds = 20
	check("below#1", "below#2", "exact#1", "exact#2", "above#1", "above#2", "text")
}
