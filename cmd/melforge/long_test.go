package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/melforge/melforge/audio"
)

// ids are those of the entries, and of the rejects with their reasons.
func ids(t *testing.T, dir string) (in, out []string) {
	for _, e := range entries(t, dir) {
		in = append(in, e.ID)
	}
	for _, r := range rejects(t, dir) {
		out = append(out, r.ID+" "+r.Reason)
	}
	return in, out
}

// TestLongWavs rejects what is longer than Whisper hears, or makes parts of it.
func TestLongWavs(t *testing.T) {
	src := t.TempDir()
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(src, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sound := hum(16000, 70)
	for name, n := range map[string]int{"below": 479999, "exact": 480000, "over": 480001, "text": 500000} {
		write(name+".wav", audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: sound.Samples[:n]}))
	}
	write("text.txt", []byte("A text for all of it.\n"))
	clear(sound.Samples[27*16000 : 27*16000+8000]) // a pause
	write("story.wav", audio.AppendWAV(nil, sound))
	dir := filepath.Join(t.TempDir(), "d")
	mel := func(flags ...string) map[string]map[string]any {
		t.Helper()
		m := messages(t, ok(t, append([]string{"mel", src, "--out", dir, "--max-rejects", "100%", "--shard-size", "3", "--json"}, flags...)...))
		ok(t, "verify", dir, "--read-data")
		return m
	}
	want := func(what string, in, out []string) {
		t.Helper()
		if gotIn, gotOut := ids(t, dir); !slices.Equal(gotIn, in) || !slices.Equal(gotOut, out) {
			t.Errorf("%s: entries %q and rejects %q, want %q and %q", what, gotIn, gotOut, in, out)
		}
	}
	mel()
	want("reject", []string{"below", "exact"}, []string{"over too-long", "story too-long", "text too-long"})
	if d := rejects(t, dir)[0].Detail; !strings.Contains(d, "30.00006 s, the limit is 30 s") || !strings.Contains(d, "--long split") {
		t.Errorf("the reason is %q", d)
	}

	parts := []string{"below", "exact", "over#1", "over#2", "story#1", "story#2", "story#3"}
	m := mel("--long", "split")
	want("split", parts, []string{"text too-long"})
	if m["summary"]["clips"] != 5.0 {
		t.Errorf("splitting made %v clips, want 5", m["summary"]["clips"])
	}
	sum := map[string]int{}
	for _, e := range entries(t, dir) {
		id, _, part := strings.Cut(e.ID, "#")
		sum[id] += e.Samples
		if e.Samples > 480000 || e.Text != "" || part == filepath.IsAbs(e.Audio) {
			t.Errorf("entry is %+v", e)
		}
	}
	if sum["over"] != 480001 || sum["story"] != 70*16000 {
		t.Errorf("the parts have %v samples", sum)
	}
	if cut := entries(t, dir)[4].Duration; cut < 27 || cut > 27.5 {
		t.Errorf("the first part ends at %.3f s, the pause is from 27 to 27.5 s", cut)
	}

	// Again nothing is made; in one go, the same bytes; reads of the parts too.
	before := tree(t, dir)
	if m := mel("--long", "split"); m["summary"]["clips"] != 0.0 {
		t.Errorf("run again: %v", m["summary"])
	}
	sameTree(t, "run again", tree(t, dir), before)
	first := dir
	dir = filepath.Join(t.TempDir(), "d")
	mel("--long", "split", "--jobs", "7")
	for name, b := range tree(t, dir) {
		if strings.HasPrefix(name, "wavs/") && before[name] != b {
			t.Errorf("%s is another when it is made in one go", name)
		}
	}
	ok(t, "mel", dir, "--mel", "whisper-128", "--max-rejects", "1") // the parts are clips like others
	want("other mels", parts, []string{"text too-long"})
	ok(t, "verify", dir, "--read-data")

	// And back: the parts leave, and gc removes their wavs.
	dir = first
	mel()
	want("reject again", []string{"below", "exact"}, []string{"over too-long", "story too-long", "text too-long"})
	ok(t, "gc", dir)
	if n := len(glob(t, dir, "wavs/*/*.wav")); n != 0 {
		t.Errorf("%d wavs of parts are left", n)
	}
	for _, args := range [][]string{{src, "--out", dir, "--long", "maybe"}, {dir, "--long", "split"}} {
		if o := run(t, append([]string{"mel"}, args...)...); o.code != exitUsage || !strings.Contains(o.stderr, "--long") {
			t.Errorf("%q: exit %d, %q", args, o.code, o.stderr)
		}
	}
}

// TestLongTexts splits what would be spoken for too long by its sentences.
func TestLongTexts(t *testing.T) {
	needEspeak(t)
	var story []string
	for i := range 24 {
		story = append(story, fmt.Sprintf("This is sentence number %d of a rather long story.", i+1))
	}
	corpus := corpusFile(t, "c.csv", "id,text", "story,"+strings.Join(story, " "), "short,A short one.")
	dir := filepath.Join(t.TempDir(), "d")
	o := run(t, speak(corpus, dir, "--max-rejects", "1")...)
	if in, out := ids(t, dir); o.code != exitDone || !slices.Equal(in, []string{"short"}) || !slices.Equal(out, []string{"story too-long"}) {
		t.Errorf("reject: exit %d, entries %q, rejects %q", o.code, in, out)
	}
	ok(t, speak(corpus, dir, "--long", "split")...)
	var texts []string
	for i, e := range entries(t, dir)[:len(entries(t, dir))-1] {
		if e.ID != fmt.Sprintf("story#%d", i+1) || e.Duration > 30 {
			t.Errorf("entry is %+v", e)
		}
		texts = append(texts, e.Text)
	}
	if len(texts) < 2 || strings.Join(texts, " ") != strings.Join(story, " ") || len(rejects(t, dir)) != 0 {
		t.Errorf("texts are %q", texts)
	}
	ok(t, "verify", dir, "--read-data")
}

// TestCrashOfGivenWavs kills the tool where it commits what only given wavs
// have: the memory of their hashes, and the parts of long ones.
func TestCrashOfGivenWavs(t *testing.T) {
	long := t.TempDir()
	if err := os.WriteFile(filepath.Join(long, "story.wav"), audio.AppendWAV(nil, hum(16000, 70)), 0o644); err != nil {
		t.Fatal(err)
	}
	// Only files that were left alone for a while are remembered.
	old, err := filepath.Abs("../../augment/testdata/noise")
	if err != nil {
		t.Fatal(err)
	}
	for point, src := range map[string]string{"sums": old, "wav": long} {
		args := func(dir string) []string {
			return []string{"mel", src, "--out", dir, "--long", "split", "--max-rejects", "100%"}
		}
		want := undisturbed(t, args)
		for _, when := range []string{".before-rename", ".after-rename"} {
			dir := filepath.Join(t.TempDir(), "d")
			crash(t, point+when, args(dir))
			ok(t, args(dir)...)
			ok(t, "verify", dir, "--read-data")
			swept(t, point+when, dir, want)
		}
	}
}
