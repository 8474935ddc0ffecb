package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/mel"
)

func TestRunVerifyInspect(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	out := ok(t, speak(corpusFile(t, "c.txt", lines(7)...), dir, "--shard-size", "3", "--json")...)
	m := messages(t, out)
	if m["summary"]["clips"] != 7.0 || m["summary"]["spoken"] != 7.0 || m["summary"]["slowest"] == "" {
		t.Errorf("summary is %v", m["summary"])
	}
	if m["config"]["voice"] != "espeak/en-us" || m["config"]["runner"] != "prism" {
		t.Errorf("config is %v", m["config"])
	}
	d := load(t, dir)
	if len(d.Shards) != 3 || d.Totals.Entries != 7 || d.Totals.Clips != 7 || d.Totals.Rejects != 0 {
		t.Errorf("dataset.json is %+v", d)
	}
	for i, e := range entries(t, dir) {
		if e.Text != lines(7)[i] || e.Line != i+1 || e.Index != i%3 || e.Shard != d.Shards[i/3].File {
			t.Errorf("entry %d is %+v", i, e)
		}
	}
	if o := ok(t, "verify", dir, "--read-data"); !strings.Contains(o, "all is well") {
		t.Errorf("verify says %q", o)
	}
	in := messages(t, ok(t, "inspect", dir, "--json"))["inspect"]
	if in["totals"].(map[string]any)["entries"] != 7.0 {
		t.Errorf("inspect says %v", in)
	}
	if o := ok(t, "inspect", dir); !strings.Contains(o, "espeak/en-us: 7 entries") {
		t.Errorf("inspect says %q", o)
	}
}

func TestSameBytes(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(23)...)
	var want map[string]string
	for _, flags := range [][]string{{"--jobs", "1"}, {"--jobs", "8"}, {"--runner", "direct", "--jobs", "3"}} {
		dir := filepath.Join(t.TempDir(), "d")
		ok(t, speak(corpus, dir, append(flags, "--shard-size", "4")...)...)
		got := tree(t, dir)
		if want == nil {
			want = got
		}
		sameTree(t, strings.Join(flags, " "), got, want)
	}
}

func TestIncremental(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	all := lines(30)
	ok(t, speak(corpusFile(t, "c.txt", all[:20]...), dir, "--shard-size", "12")...)
	before := tree(t, dir)

	// Ten lines more, some of them in the middle.
	grown := slices.Concat(all[:5], all[20:25], all[5:20], all[25:])
	corpus := corpusFile(t, "c.txt", grown...)
	m := messages(t, ok(t, speak(corpus, dir, "--shard-size", "12", "--json")...))
	if m["summary"]["clips"] != 10.0 || m["summary"]["spoken"] != 10.0 || m["summary"]["new_shards"] != 1.0 {
		t.Errorf("ten lines more gave %v", m["summary"])
	}
	after := tree(t, dir)
	for name, b := range before {
		if strings.HasPrefix(name, "shards/") || strings.HasPrefix(name, "wavs/") {
			if after[name] != b {
				t.Errorf("%s changed", name)
			}
		}
	}
	for i, e := range entries(t, dir) {
		if e.Text != grown[i] {
			t.Errorf("entry %d is %q, want %q: not in corpus order", i, e.Text, grown[i])
		}
	}
	ok(t, "verify", dir, "--read-data")

	// Nothing new: nothing is made, and not a byte changes.
	m = messages(t, ok(t, speak(corpus, dir, "--shard-size", "12", "--json")...))
	if m["summary"]["clips"] != 0.0 || m["plan"]["new_shards"] != 0.0 {
		t.Errorf("nothing new gave %v", m["summary"])
	}
	sameTree(t, "run again", tree(t, dir), after)
}

func TestRemovedLinesAndGC(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	all := lines(9)
	ok(t, speak(corpusFile(t, "c.txt", all...), dir, "--shard-size", "3")...)
	keep := slices.Concat(all[:2], all[6:])
	ok(t, speak(corpusFile(t, "c.txt", keep...), dir, "--shard-size", "3")...)
	if got := len(entries(t, dir)); got != len(keep) {
		t.Fatalf("%d entries, want %d", got, len(keep))
	}
	if got := len(load(t, dir).Shards); got != 2 {
		t.Errorf("%d shards are named, want 2: the second has no clip left", got)
	}
	stranger := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(stranger, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	ok(t, "gc", dir, "--dry-run")
	if got := len(glob(t, dir, "wavs/*/*.wav")); got != 9 {
		t.Errorf("a dry run left %d of 9 wavs", got)
	}
	ok(t, "gc", dir)
	if got := len(glob(t, dir, "wavs/*/*.wav")); got != len(keep) {
		t.Errorf("gc left %d wavs, want %d", got, len(keep))
	}
	if got := len(glob(t, dir, "shards/*.h5")) + len(glob(t, dir, "index/*")); got != 2+2 {
		t.Errorf("gc left %d shards and index files, want 4", got)
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Error("gc removed a file that is not ours")
	}
	ok(t, "verify", dir, "--read-data")
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestWhatChangesIsMadeAgain(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	corpus := corpusFile(t, "c.csv", "text,speed", "One thing.,1", "Another thing.,1")
	ok(t, speak(corpus, dir)...)

	// Another mel configuration: new shards, the same wavs.
	m := messages(t, ok(t, speak(corpus, dir, "--mel", "whisper-128", "--json")...))
	if m["summary"]["clips"] != 2.0 || m["summary"]["spoken"] != 0.0 {
		t.Errorf("another mel gave %v", m["summary"])
	}
	if d := load(t, dir); len(d.Shards) != 1 || d.Shards[0].NMels != 128 {
		t.Errorf("shards are %+v", d.Shards)
	}
	// Another speed of one line: one clip.
	corpus = corpusFile(t, "c.csv", "text,speed", "One thing.,1.3", "Another thing.,1")
	m = messages(t, ok(t, speak(corpus, dir, "--mel", "whisper-128", "--json")...))
	if m["summary"]["clips"] != 1.0 || m["summary"]["spoken"] != 1.0 {
		t.Errorf("another speed gave %v", m["summary"])
	}
	// Another voice: everything.
	m = messages(t, ok(t, "run", corpus, "--out", dir, "--voice", "espeak/en-gb", "--mel", "whisper-128", "--json"))
	if m["summary"]["spoken"] != 2.0 {
		t.Errorf("another voice gave %v", m["summary"])
	}
	ok(t, "verify", dir, "--read-data")
}

func TestSynthThenMelEqualsRun(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(7)...)
	whole, halves := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpus, whole, "--shard-size", "3")...)
	ok(t, "synth", corpus, "--out", halves, "--voice", "espeak/en-us", "--shard-size", "3")
	if d := load(t, halves); d.Mel != nil || len(d.Shards) != 0 || d.Totals.Entries != 7 {
		t.Errorf("synth made %+v", d)
	}
	ok(t, "verify", halves, "--read-data")
	ok(t, "mel", halves, "--shard-size", "3")
	ok(t, "gc", whole)
	ok(t, "gc", halves)
	sameTree(t, "synth and mel", tree(t, halves), tree(t, whole))
}

func TestMelOfGivenWavs(t *testing.T) {
	src := t.TempDir()
	wave := func(name string, rate, n int) {
		p := audio.PCM{Rate: rate, Samples: make([]int16, n)}
		for i := range p.Samples {
			p.Samples[i] = int16((i*i*31 + i*7) % 20000)
		}
		path := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, audio.AppendWAV(nil, p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wave("wavs/a.wav", 16000, 16000)
	wave("wavs/b.wav", 22050, 44100)
	wave("wavs/c.wav", 48000, 24000)
	write := func(name, text string) string {
		path := filepath.Join(src, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("wavs/a.txt", "the text of a\n")
	write("wavs/broken.wav", "RIFF, but no more")
	nemo := write("m.json", `{"audio_filepath":"wavs/a.wav","duration":1,"text":"a"}
{"audio_filepath":"wavs/b.wav","duration":2,"text":"b"}
{"audio_filepath":"wavs/gone.wav","duration":2,"text":"gone"}
`)
	lj := write("metadata.csv", "a|A|ay\nb|B|bee\nc|C|sea\n")
	for name, c := range map[string]struct {
		source  string
		samples []int
		texts   []string
		rejects []string
	}{
		"folder":   {filepath.Join(src, "wavs"), []int{16000, 32000, 8000}, []string{"the text of a", "", ""}, []string{"bad-wav"}},
		"nemo":     {nemo, []int{16000, 32000}, []string{"a", "b"}, []string{"missing-audio"}},
		"ljspeech": {lj, []int{16000, 32000, 8000}, []string{"ay", "bee", "sea"}, nil},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		ok(t, "mel", c.source, "--out", dir, "--max-rejects", "1")
		for i, e := range entries(t, dir) {
			if e.Samples != c.samples[i] || e.Text != c.texts[i] || !filepath.IsAbs(e.Audio) {
				t.Errorf("%s: entry %d is %+v", name, i, e)
			}
		}
		var reasons []string
		for _, r := range rejects(t, dir) {
			reasons = append(reasons, r.Reason)
		}
		if !slices.Equal(reasons, c.rejects) {
			t.Errorf("%s: rejects %q, want %q", name, reasons, c.rejects)
		}
		if len(glob(t, dir, "wavs/*/*")) != 0 {
			t.Errorf("%s: wavs were copied", name)
		}
		ok(t, "verify", dir, "--read-data")
	}
}

func TestRejects(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.csv", "id,text,voice",
		"a,Good morning.,",
		"b,,",
		"c,?!,",
		"d,\"bad \xff bytes\",",
		"e,"+strings.Repeat("long ", 200)+",",
		"a,Another text with the id of the first.,",
		"f,Unknown voice.,espeak/xx-nowhere",
		"g,Good morning.,",
		"a,Good morning.,",
	)
	dir := filepath.Join(t.TempDir(), "d")
	o := run(t, speak(corpus, dir, "--max-rejects", "5", "--json")...)
	if o.code != exitRejects {
		t.Errorf("exit %d with 6 rejects and a limit of 5\n%s", o.code, o.stderr)
	}
	want := []string{"3 b empty", "4 c no-letters", "5 d invalid-utf8", "6 e too-long", "7 a duplicate-id", "8 f unknown-voice"}
	var got []string
	for _, r := range rejects(t, dir) {
		got = append(got, fmt.Sprint(r.Line, " ", r.ID, " ", r.Reason))
		if r.Stage == "" || r.Detail == "" && r.Reason != "empty" {
			t.Errorf("reject %+v says too little", r)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rejects are %q, want %q", got, want)
	}
	// Two lines with the same text and voice: spoken once, two entries.
	e := entries(t, dir)
	if len(e) != 2 || e[0].Key != e[1].Key || e[0].ID != "a" || e[1].ID != "g" {
		t.Errorf("entries are %+v", e)
	}
	if n := messages(t, o.out)["summary"]["spoken"]; n != 1.0 {
		t.Errorf("%v clips were spoken, want 1", n)
	}
	ok(t, append(speak(corpus, dir), "--max-rejects", "80%")...)
	ok(t, "verify", dir)
}

func TestRejectedKeysAreRemembered(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	corpus := corpusFile(t, "c.txt", "A good line that is long enough.", "No.")
	flags := []string{"--min-seconds", "1", "--max-rejects", "1", "--json"}
	m := messages(t, ok(t, speak(corpus, dir, flags...)...))
	if m["summary"]["rejects"] != 1.0 {
		t.Fatalf("summary is %v", m["summary"])
	}
	before := tree(t, dir)
	m = messages(t, ok(t, speak(corpus, dir, flags...)...))
	if c := m["plan"]["counts"].(map[string]any); c["new"] != 0.0 || c["rejects"] != 1.0 {
		t.Errorf("the rejected line is tried again: %v", c)
	}
	sameTree(t, "run again", tree(t, dir), before)
	m = messages(t, ok(t, speak(corpus, dir, append(flags, "--retry-rejects")...)...))
	if c := m["plan"]["counts"].(map[string]any); c["new"] != 1.0 {
		t.Errorf("--retry-rejects does not try again: %v", c)
	}
	m = messages(t, ok(t, speak(corpus, dir, "--min-seconds", "0.1", "--json")...))
	// Another gate judges both again; only what it had kept out is spoken.
	if m["summary"]["clips"] != 2.0 || m["summary"]["spoken"] != 1.0 {
		t.Errorf("with another gate: %v", m["summary"])
	}
}

func TestDryRunDoesNothing(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", append(lines(5), "", "...")...)
	dir := filepath.Join(t.TempDir(), "d")
	for _, args := range [][]string{speak(corpus, dir, "--dry-run", "--json"), {"plan", corpus, "--out", dir, "--voice", "espeak", "--json"}} {
		m := messages(t, ok(t, args...))
		c := m["plan"]["counts"].(map[string]any)
		e := m["plan"]["estimate"].(map[string]any)
		if c["new"] != 5.0 || c["rejects"] != 2.0 || e["audio_seconds"].(float64) <= 0 || e["mel_bytes"].(float64) <= 0 || e["seconds"].(float64) <= 0 {
			t.Errorf("plan is %v", m["plan"])
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatal("the folder was made")
		}
	}
	ok(t, speak(corpus, dir, "--max-rejects", "2")...)
	before := tree(t, dir)
	m := messages(t, ok(t, speak(corpusFile(t, "c.txt", lines(8)...), dir, "-n", "--json")...))
	if c := m["plan"]["counts"].(map[string]any); c["new"] != 3.0 || c["done"] != 5.0 {
		t.Errorf("plan is %v", m["plan"])
	}
	sameTree(t, "dry run", tree(t, dir), before)
}

func TestConfigFile(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(4)...)
	config := corpusFile(t, "c.yaml", "voice: espeak/en-gb", "shard-size: 2", "mel: whisper-128", "runner: direct", "seed: 42")
	dir := filepath.Join(t.TempDir(), "d")
	m := messages(t, ok(t, "run", corpus, "--out", dir, "--config", config, "--mel", "whisper-80", "--json"))
	if m["config"]["runner"] != "direct" || m["config"]["mel"] != "whisper-80" {
		t.Errorf("config is %v", m["config"])
	}
	d := load(t, dir)
	if d.Settings.Voice != "espeak/en-gb" || len(d.Shards) != 2 || d.Mel.NMels != 80 || d.Settings.Seed != 42 {
		t.Errorf("dataset is %+v", d)
	}
	for text, want := range map[string]string{
		"vioces: a":       "has no flag \"vioces\" (did you mean voices?)",
		"shard-size: big": "line 1",
		"- a":             "want flag names",
		"voice: {a: b}":   "want a value",
		"voice: [":        "yaml",
	} {
		o := run(t, "run", corpus, "--out", dir, "--config", corpusFile(t, "c.yaml", text))
		if o.code != exitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("config %q: exit %d, %q", text, o.code, o.stderr)
		}
	}
}

func TestFolderIsOurs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := run(t, speak(corpusFile(t, "c.txt", "Hello."), dir)...)
	if o.code != exitFailed || !strings.Contains(o.stderr, "not a Melforge dataset") {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
	if len(glob(t, dir, "*")) != 1 {
		t.Error("something was written into a folder that is not ours")
	}
}

func TestLockedFolder(t *testing.T) {
	dir := t.TempDir()
	f := datasets.At(dir)
	if err := f.Prepare(); err != nil {
		t.Fatal(err)
	}
	lock, err := f.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	o := run(t, speak(corpusFile(t, "c.txt", "Hello."), dir)...)
	if o.code != exitFailed || !strings.Contains(o.stderr, fmt.Sprintf("another melforge (process %d)", os.Getpid())) {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
}

// TestOtherMels makes and verifies a dataset with every preset, at their rates,
// and with a configuration of the user's own.
func TestOtherMels(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(2)...)
	own := corpusFile(t, "my.yaml", "name: mine", "preset: whisper-80", "n_mels: 64")
	for _, name := range append(mel.Presets(), own) {
		dir := filepath.Join(t.TempDir(), "d")
		ok(t, speak(corpus, dir, "--mel", name)...)
		ok(t, "verify", dir, "--read-data")
		d := load(t, dir)
		want, err := melConfig(name)
		if err != nil || *d.Mel != want || d.Settings.Rate != want.Rate || d.Totals.Frames == 0 {
			t.Errorf("%s: dataset has %+v at %d Hz, %v", name, d.Mel, d.Settings.Rate, err)
		}
	}
	o := run(t, speak(corpus, t.TempDir(), "--mel", corpusFile(t, "bad.yaml", "name: x", "preset: whisper-80", "n_mel: 3"))...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "n_mel") {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
}
