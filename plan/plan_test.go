package plan

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// source is a corpus in memory.
type source struct {
	lines []corpus.Line
	at    int
}

func (s *source) Next() (corpus.Line, error) {
	if s.at == len(s.lines) {
		return corpus.Line{}, io.EOF
	}
	s.at++
	return s.lines[s.at-1], nil
}

func texts(n int) []corpus.Line {
	out := make([]corpus.Line, n)
	for i := range out {
		out[i] = corpus.Line{Number: i + 1, Text: fmt.Sprintf("Text number %d.", i)}
	}
	return out
}

// options are those of a run with espeak's voices.
func options(t *testing.T) Options {
	t.Helper()
	voices := tts.Open(tts.Options{})
	t.Cleanup(func() {
		if err := voices.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := voices.Resolve(context.Background(), "espeak/en-us"); err != nil {
		t.Skip(err)
	}
	c, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Speech: true, Mel: &c, Voices: voices, Jobs: 2,
		Variety:  Variety{Voices: []Choice{{"espeak/en-us", 1}}, Variants: 1, Speed: Range{1, 1}},
		Settings: manifests.Settings{Rate: 16000, ShardSize: 4, MaxChars: 100},
	}
}

// items makes a plan of the lines and reads back what was decided.
func items(t *testing.T, o Options, lines []corpus.Line) (*manifests.Plan, []manifests.Item) {
	t.Helper()
	folder := datasets.At(t.TempDir())
	if err := folder.Prepare(); err != nil {
		t.Fatal(err)
	}
	p, err := Make(context.Background(), folder, &source{lines: lines}, o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(folder.Path(p.Items))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []manifests.Item
	for it, err := range manifests.Items(f, p.Items) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, it)
	}
	return p, out
}

func TestShards(t *testing.T) {
	p, its := items(t, options(t), texts(10))
	if len(p.Shards) != 3 || p.Shards[0].Clips != 4 || p.Shards[2].Clips != 2 || p.Counts.New != 10 {
		t.Fatalf("plan is %+v", p)
	}
	for i, it := range its {
		if it.State != manifests.StateNew || it.Shard != i/4 || it.Line != i+1 {
			t.Errorf("item %d is %+v", i, it)
		}
	}
	again, _ := items(t, options(t), texts(10))
	other, _ := items(t, options(t), texts(9))
	for i, s := range p.Shards {
		if again.Shards[i].Name != s.Name {
			t.Errorf("shard %d has the names %s and %s for the same clips", i, s.Name, again.Shards[i].Name)
		}
	}
	if other.Shards[1].Name != p.Shards[1].Name || other.Shards[2].Name == p.Shards[2].Name {
		t.Error("a shard's name does not follow its clips")
	}
}

func TestIDs(t *testing.T) {
	lines := []corpus.Line{
		{Number: 1, Text: "The same."}, {Number: 2, Text: "Other."}, {Number: 3, Text: "The same."}, {Number: 4, Text: "The same."},
		{Number: 5, ID: "x", Text: "With an id."}, {Number: 6, ID: "x", Text: "With an id."}, {Number: 7, ID: "x", Text: "Clash."},
	}
	p, its := items(t, options(t), lines)
	want := manifests.Counts{Lines: 7, New: 3, Shared: 2, Reject: 1, Repeated: 1}
	if p.Counts != want {
		t.Errorf("counts are %+v, want %+v", p.Counts, want)
	}
	ids := map[string]bool{}
	for _, it := range its {
		if it.State != manifests.StateReject && ids[it.ID] {
			t.Errorf("id %s stands twice", it.ID)
		}
		ids[it.ID] = true
	}
	if its[2].ID != its[0].ID+"-2" || its[3].ID != its[0].ID+"-3" {
		t.Errorf("ids of the same text are %s, %s, %s", its[0].ID, its[2].ID, its[3].ID)
	}
	// A line that comes before does not change the others' ids.
	_, shifted := items(t, options(t), append([]corpus.Line{{Number: 1, Text: "New."}}, lines...))
	if shifted[1].ID != its[0].ID {
		t.Errorf("id %s became %s", its[0].ID, shifted[1].ID)
	}
}

// TestDraws wants a line to be spoken the same whatever stands around it.
func TestDraws(t *testing.T) {
	o := options(t)
	o.Settings.Seed = 7
	o.Variety = Variety{
		Voices: []Choice{{"espeak/en-us", 1}, {"espeak/en-gb", 2}}, Variants: 3,
		Speed: Range{0.8, 1.2}, Pitch: Range{-2, 2},
	}
	lines := texts(40)
	_, its := items(t, o, lines)
	if len(its) != 120 {
		t.Fatalf("%d items, want 120", len(its))
	}
	byID := map[string]manifests.Item{}
	british := 0
	for _, it := range its {
		byID[it.ID] = it
		if it.Speed < 0.8 || it.Speed > 1.2 || it.Pitch < -2 || it.Pitch > 2 {
			t.Errorf("%s: speed %g, pitch %g", it.ID, it.Speed, it.Pitch)
		}
		if it.Voice == "espeak/en-gb" {
			british++
		}
	}
	// 120 draws at 2/3: 80 expected, five standard deviations are 26.
	if british < 54 || british > 106 {
		t.Errorf("%d of 120 are British, want about 80", british)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	_, shuffled := items(t, o, lines[:20])
	for _, it := range shuffled {
		if was := byID[it.ID]; it.Key != was.Key || it.Voice != was.Voice || it.Speed != was.Speed {
			t.Errorf("%s was %+v, is %+v", it.ID, was, it)
		}
	}
	o.Settings.Seed = 8
	_, reseeded := items(t, o, texts(40))
	same := 0
	for i := range its {
		if reseeded[i].Key == its[i].Key {
			same++
		}
	}
	if same > 3 {
		t.Errorf("%d of 120 draws are the same with another seed", same)
	}
	// What a line says is not drawn.
	_, fixed := items(t, o, []corpus.Line{{Number: 1, Text: "Fixed.", Voice: "espeak/de", Speed: 0.5, Pitch: 3}})
	for _, it := range fixed {
		if it.Voice != "espeak/de" || it.Speed != 0.5 || it.Pitch != 3 {
			t.Errorf("drawn although it was given: %+v", it)
		}
	}
}

func TestParseChoicesAndRanges(t *testing.T) {
	got, err := ParseChoices("a, b=2,c=0.5")
	if err != nil || fmt.Sprint(got) != "[{a 1} {b 2} {c 0.5}]" {
		t.Errorf("choices are %v, %v", got, err)
	}
	for _, bad := range []string{"", "a,,b", "a=0", "a=-1", "a=x", "a=Inf", "=2"} {
		if _, err := ParseChoices(bad); err == nil {
			t.Errorf("choices %q were accepted", bad)
		}
	}
	for in, want := range map[string]Range{"1": {1, 1}, "0.9:1.1": {0.9, 1.1}, "-2:2": {-2, 2}} {
		r, err := ParseRange(in)
		if err != nil || r != want || r.String() != in {
			t.Errorf("range %q is %v (%s), %v", in, r, r, err)
		}
	}
	for _, bad := range []string{"", "x", "2:1", "1:", ":1", "NaN", "1:Inf"} {
		if _, err := ParseRange(bad); err == nil {
			t.Errorf("range %q was accepted", bad)
		}
	}
}

func TestEmptyCorpus(t *testing.T) {
	folder := datasets.At(t.TempDir())
	if err := folder.Prepare(); err != nil {
		t.Fatal(err)
	}
	_, err := Make(context.Background(), folder, &source{}, options(t))
	if err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder.Dir(), ".melforge", "items.jsonl")); err == nil {
		t.Error("an items file was left")
	}
}
