package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/audio"
)

func TestVariants(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(6)...)
	dir := filepath.Join(t.TempDir(), "d")
	args := []string{
		"run", corpus, "--out", dir, "--voices", "espeak/en-us,espeak/en-gb=2", "--variants", "3",
		"--speed", "0.9:1.1", "--pitch", "-1:1", "--seed", "5",
	}
	ok(t, args...)
	got := entries(t, dir)
	if len(got) != 18 {
		t.Fatalf("%d entries, want 18", len(got))
	}
	speeds := map[float64]bool{}
	for i, e := range got {
		speeds[e.Speed] = true
		if e.Text != lines(6)[i/3] || e.Line != i/3+1 || e.Speed < 0.9 || e.Speed > 1.1 {
			t.Errorf("entry %d is %+v", i, e)
		}
	}
	if len(speeds) < 10 {
		t.Errorf("only %d different speeds", len(speeds))
	}
	if s := load(t, dir).Settings; s.Voice != "espeak/en-us,espeak/en-gb=2" || s.Speed != "0.9:1.1" || s.Variants != 3 {
		t.Errorf("settings are %+v", s)
	}
	ok(t, "verify", dir, "--read-data")
	// One variant more: only the new ones are made.
	args[7] = "4"
	m := messages(t, ok(t, append(args, "--json")...))
	if m["summary"]["spoken"] != 6.0 {
		t.Errorf("one variant more spoke %v clips, want 6", m["summary"]["spoken"])
	}
	o := run(t, speak(corpus, dir, "--variants", "2")...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "all would be the same") {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
}

func TestAugment(t *testing.T) {
	needEspeak(t)
	data, err := filepath.Abs("../../augment/testdata")
	if err != nil {
		t.Fatal(err)
	}
	recipe := corpusFile(t, "recipe.yaml",
		"noise: {probability: 1, dir: "+filepath.Join(data, "noise")+", snr: {min: 5, max: 20}}",
		"reverb: {probability: 0.5, dir: "+filepath.Join(data, "rooms")+", wet: {min: 0.2, max: 1}}",
		"speed: {probability: 0.5, factor: {min: 0.9, max: 1.1}}",
		"telephone: {probability: 0.3}",
		"gain: {probability: 1, db: {min: -6, max: 3}}")
	corpus := corpusFile(t, "c.txt", lines(5)...)
	flags := []string{"--augment", recipe, "--augment-versions", "2", "--shard-size", "4"}
	dir := filepath.Join(t.TempDir(), "d")
	m := messages(t, ok(t, speak(corpus, dir, append(flags, "--json")...)...))
	if m["summary"]["clips"] != 15.0 || m["summary"]["spoken"] != 5.0 || m["summary"]["augmented"] != 10.0 {
		t.Fatalf("summary is %v", m["summary"])
	}
	byID := map[string]int{}
	got := entries(t, dir)
	for i, e := range got {
		byID[e.ID] = i
		plain := i%3 == 0
		if plain != (e.Augment == nil) || plain != e.Base.IsZero() || e.Text != lines(5)[i/3] {
			t.Errorf("entry %d is %+v", i, e)
		}
		if plain {
			continue
		}
		if e.Base != got[i-i%3].Key || e.Augment.Noise.SNR < 5 || e.Augment.Noise.SNR > 20 || e.Augment.Gain == 0 {
			t.Errorf("entry %d has %+v of %s", i, e.Augment, e.Base)
		}
	}
	ok(t, "verify", dir, "--read-data")

	// One worker or eight, in one go or from spoken clips: the same bytes.
	want := tree(t, dir)
	other := filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpus, other, append(flags, "--jobs", "8")...)...)
	sameTree(t, "eight jobs", tree(t, other), want)

	// A plain dataset grows its versions without speaking again.
	grown := filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpus, grown)...)
	m = messages(t, ok(t, speak(corpus, grown, append(flags, "--json")...)...))
	if m["summary"]["spoken"] != 0.0 || m["summary"]["augmented"] != 10.0 {
		t.Errorf("summary is %v", m["summary"])
	}
	for _, e := range entries(t, grown) {
		if want := got[byID[e.ID]]; e.CRC32C != want.CRC32C {
			t.Errorf("%s sounds different when it is made later", e.ID)
		}
	}
	for text, want := range map[string]string{
		"noise: {probability: 1, dir: /nowhere, snr: {min: 5, max: 20}}": "/nowhere",
		"nosie: {}":                 "nosie",
		"gain: {probability: 2}":    "from 0 to 1",
		"gain: {probability: 0}":    "does nothing",
		"speed: {probability: 0.5}": "speed.factor",
	} {
		o := run(t, speak(corpus, dir, "--augment", corpusFile(t, "r.yaml", text))...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("recipe %q: exit %d, %q", text, o.code, o.stderr)
		}
	}
}

// TestLevels wants clips at the stated loudness, trimmed where that is asked
// for, and left alone where nothing is.
func TestLevels(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(3)...)
	sum := func(flags ...string) (samples int, loudness float64) {
		dir := filepath.Join(t.TempDir(), "d")
		ok(t, speak(corpus, dir, flags...)...)
		for _, e := range entries(t, dir) {
			b, err := os.ReadFile(filepath.Join(dir, e.Audio))
			if err != nil {
				t.Fatal(err)
			}
			p, err := audio.DecodeWAV(b)
			if err != nil || len(p.Samples) != e.Samples || p.Rate != 16000 {
				t.Errorf("%s: %d samples at %d Hz, %v", e.ID, len(p.Samples), p.Rate, err)
			}
			samples += e.Samples
			loudness += e.Loudness / 3
		}
		return samples, loudness
	}
	whole, level := sum()
	if level < -23.2 || level > -22.8 {
		t.Errorf("loudness is %.2f LUFS, want -23", level)
	}
	if _, quiet := sum("--loudness", "-35"); quiet < -35.2 || quiet > -34.8 {
		t.Errorf("loudness is %.2f LUFS, want -35", quiet)
	}
	if cut, _ := sum("--trim", "--trim-margin", "0.02"); cut >= whole {
		t.Errorf("trimmed clips have %d samples, whole ones %d", cut, whole)
	}
}

// TestOwnVoice speaks with a command from a voices file.
func TestOwnVoice(t *testing.T) {
	needEspeak(t)
	file := corpusFile(t, "voices.yaml",
		"exec:",
		"  robot:",
		"    command: [espeak-ng, --stdin, --stdout, -v, en-us, -s, '150']",
		"    lang: en",
		"    license: GPL-3.0 (program)")
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, "run", corpusFile(t, "c.txt", lines(3)...), "--out", dir, "--voices-file", file, "--voice", "exec/robot")
	for _, e := range entries(t, dir) {
		if e.Voice != "exec/robot" || e.Samples < 8000 {
			t.Errorf("entry is %+v", e)
		}
	}
	ok(t, "verify", dir, "--read-data")
	o := run(t, "run", corpusFile(t, "c.txt", "Hello."), "--out", dir, "--voices-file", corpusFile(t, "v.yaml", "exce: {}"))
	if o.code != exitUsage || !strings.Contains(o.stderr, "exce") {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
}

// TestLexicon wants the voice to be given other words than the manifest holds.
func TestLexicon(t *testing.T) {
	needEspeak(t)
	lexicon := corpusFile(t, "lexicon.tsv", "HDF5\tH D F five", "melforge\t/m'ElfO@dZ/")
	corpus := corpusFile(t, "c.txt", "The shards of Melforge are in HDF5 files.", "Nothing to change here.")
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpus, dir)...)
	plain := entries(t, dir)
	m := messages(t, ok(t, speak(corpus, dir, "--lexicon", lexicon, "--json")...))
	if m["summary"]["spoken"] != 1.0 {
		t.Errorf("%v clips were spoken, want the one that changed", m["summary"]["spoken"])
	}
	got := entries(t, dir)
	if got[0].Text != plain[0].Text || got[0].Spoken != "The shards of [[m'ElfO@dZ]] are in H D F five files." || got[0].Key == plain[0].Key {
		t.Errorf("entry is %+v", got[0])
	}
	if got[1].Spoken != "" || got[1].Key != plain[1].Key {
		t.Errorf("entry is %+v", got[1])
	}
}

// TestScriptMismatch wants a text that the voice cannot read to be refused.
func TestScriptMismatch(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", "An English sentence.", "今天天气很好，我们去公园。")
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpus, dir, "--max-rejects", "1")...)
	if r := rejects(t, dir); len(r) != 1 || r[0].Reason != "script-mismatch" || r[0].Line != 2 {
		t.Errorf("rejects are %+v", r)
	}
	ok(t, speak(corpus, dir, "--any-script", "--max-rejects", "1")...)
	if r := rejects(t, dir); len(r) != 0 {
		t.Errorf("with --any-script rejects are %+v", r)
	}
}
