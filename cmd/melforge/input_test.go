package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadInput(t *testing.T) {
	needEspeak(t)
	good := corpusFile(t, "c.txt", "Hello there.")
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "d")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"missing corpus":      {speak("/nowhere/c.txt", out), exitFailed, "no such file"},
		"a folder":            {speak(t.TempDir(), out), exitFailed, "wav"},
		"empty corpus":        {speak(empty, out), exitFailed, "empty"},
		"only a header":       {speak(corpusFile(t, "c.csv", "id,text"), out), exitFailed, "empty"},
		"no text column":      {speak(corpusFile(t, "c.csv", "id,words,lang", "1,hello,en"), out), exitFailed, "words"},
		"unknown format":      {speak(good, out, "--format", "xml"), exitFailed, "xml"},
		"unwritable":          {speak(good, "/proc/nothing/here"), exitFailed, "--out"},
		"out is a file":       {speak(good, good), exitFailed, "not a directory"},
		"no out":              {[]string{"run", good}, exitUsage, "--out"},
		"no corpus":           {[]string{"run", "--out", out}, exitUsage, "name the corpus"},
		"two corpora":         {speak(good, out, good), exitUsage, "one corpus, not 2"},
		"unknown voice":       {[]string{"run", good, "--out", out, "--voice", "espeak/en-uss"}, exitUsage, "en-us"},
		"unknown engine":      {speak(good, out, "--engine", "tpu"), exitUsage, "auto, cuda or cpu"},
		"no cuda":             {speak(good, filepath.Join(t.TempDir(), "d"), "--engine", "cuda"), exitFailed, "--engine cpu"},
		"bad devices":         {speak(good, out, "--devices", "a"), exitUsage, "--devices"},
		"bad level":           {speak(good, out, "--opt-level", "3"), exitUsage, "0, 1 or 2"},
		"unknown mel":         {speak(good, out, "--mel", "whisper-81"), exitUsage, "whisper-80"},
		"unknown flag":        {speak(good, out, "--vioce", "x"), exitUsage, "vioce"},
		"unknown command":     {[]string{"rum"}, exitUsage, "did you mean run"},
		"bad jobs":            {speak(good, out, "--jobs", "0"), exitUsage, "at least 1"},
		"bad limit":           {speak(good, out, "--max-rejects", "many"), exitUsage, "number of lines"},
		"bad gates":           {speak(good, out, "--min-seconds", "5", "--max-seconds", "2"), exitUsage, "must be above"},
		"bad log level":       {speak(good, out, "--log-level", "loud"), exitUsage, "debug, info"},
		"missing config":      {speak(good, out, "--config", "/nowhere.yaml"), exitUsage, "no such file"},
		"verify nothing":      {[]string{"verify", t.TempDir()}, exitFailed, "no dataset.json"},
		"verify missing":      {[]string{"verify", "/nowhere"}, exitFailed, "no such file"},
		"verify a file":       {[]string{"verify", good}, exitFailed, "name the dataset's folder"},
		"gc nothing":          {[]string{"gc", t.TempDir()}, exitFailed, "no dataset.json"},
		"mel of a text file":  {[]string{"mel", good, "--out", out, "--max-rejects", "0"}, exitRejects, "rejected"},
		"unknown beam runner": {speak(good, filepath.Join(t.TempDir(), "d"), "--runner", "hamster"), exitUsage, "hamster"},
	} {
		o := run(t, c.args...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: exit %d, want %d; says %q, want %q in it", name, o.code, c.code, o.stderr, c.want)
		}
		if strings.Contains(o.stderr, "goroutine ") {
			t.Errorf("%s: panicked: %s", name, o.stderr)
		}
	}
}

// TestVerifyFindsDamage damages one file at a time and wants it named.
func TestVerifyFindsDamage(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpusFile(t, "c.txt", lines(4)...), dir, "--shard-size", "2")...)
	first := func(pattern string) string { return glob(t, dir, pattern)[0] }
	flip := func(b []byte, at int) []byte { b[at] ^= 1; return b }
	for name, c := range map[string]struct {
		path   string
		damage func([]byte) []byte
		deep   bool // only --read-data can see it
	}{
		"shard cut":      {first("shards/*.h5"), func(b []byte) []byte { return b[:len(b)-1] }, false},
		"shard bit":      {first("shards/*.h5"), func(b []byte) []byte { return flip(b, len(b)-9) }, false},
		"shard head":     {first("shards/*.h5"), func(b []byte) []byte { return flip(b, 9) }, false},
		"shard gone":     {first("shards/*.h5"), nil, false},
		"wav gone":       {first("wavs/*/*.wav"), nil, false},
		"wav cut":        {first("wavs/*/*.wav"), func(b []byte) []byte { return b[:50] }, false},
		"wav bit":        {first("wavs/*/*.wav"), func(b []byte) []byte { return flip(b, 100) }, true},
		"manifest bit":   {first("index/manifest-*"), func(b []byte) []byte { return flip(b, 30) }, false},
		"manifest gone":  {first("index/manifest-*"), nil, false},
		"rejects longer": {first("index/rejects-*"), func(b []byte) []byte { return append(b, "{}\n"...) }, false},
		"link gone":      {filepath.Join(dir, "manifest.jsonl"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			good, err := os.ReadFile(c.path)
			if err != nil {
				t.Fatal(err)
			}
			// A hard link must not carry the damage to its other name, nor back.
			if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
			if c.damage != nil {
				if err := os.WriteFile(c.path, c.damage(append([]byte(nil), good...)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			rel, _ := filepath.Rel(dir, c.path)
			if o := run(t, "verify", dir); c.deep != (o.code == exitDone) || !c.deep && !strings.Contains(o.out, rel) {
				t.Errorf("verify: exit %d, %q", o.code, o.out+o.stderr)
			}
			if o := run(t, "verify", dir, "--read-data"); o.code != exitFailed || !strings.Contains(o.out, rel) {
				t.Errorf("verify --read-data: exit %d, %q", o.code, o.out+o.stderr)
			}
			if err := os.WriteFile(c.path, good, 0o644); err != nil {
				t.Fatal(err)
			}
			ok(t, "verify", dir, "--read-data")
		})
	}
}

// TestRepair damages a dataset and wants one command to mend it, without
// speaking what is there.
func TestRepair(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(6)...)
	for name, c := range map[string]struct {
		pattern string
		damage  bool
		spoken  float64
	}{
		"shard gone":       {"shards/*.h5", false, 0},
		"shard damaged":    {"shards/*.h5", true, 0},
		"wav gone":         {"wavs/*/*.wav", false, 1},
		"wav damaged":      {"wavs/*/*.wav", true, 1},
		"manifest gone":    {"index/manifest-*", false, 0},
		"manifest damaged": {"index/manifest-*", true, 0},
		"link gone":        {"manifest.jsonl", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			ok(t, speak(corpus, dir, "--shard-size", "3")...)
			path := glob(t, dir, c.pattern)[0]
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if c.damage {
				b[len(b)-5] ^= 1
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			m := messages(t, ok(t, speak(corpus, dir, "--shard-size", "3", "--repair", "--json")...))
			if m["summary"]["spoken"] != c.spoken {
				t.Errorf("%v clips were spoken, want %v", m["summary"]["spoken"], c.spoken)
			}
			ok(t, "verify", dir, "--read-data")
			if got := len(entries(t, dir)); got != 6 {
				t.Errorf("%d of 6 entries", got)
			}
		})
	}
}

// TestDamagedIndexIsRefused wants no command to build on a broken dataset.json.
func TestDamagedIndexIsRefused(t *testing.T) {
	needEspeak(t)
	dir := filepath.Join(t.TempDir(), "d")
	corpus := corpusFile(t, "c.txt", lines(2)...)
	ok(t, speak(corpus, dir)...)
	index := filepath.Join(dir, "dataset.json")
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"cut":     {string(good[:len(good)/2]), "cut short"},
		"text":    {"hello", "not JSON"},
		"newer":   {strings.Replace(string(good), `"version": 1`, `"version": 99`, 1), "version 99 is not known"},
		"foreign": {`{"format":"parquet"}`, "not a Melforge dataset"},
	} {
		if err := os.WriteFile(index, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{speak(corpus, dir), {"verify", dir}, {"inspect", dir}, {"gc", dir}} {
			if o := run(t, args...); o.code != exitFailed || !strings.Contains(o.stderr, c.want) {
				t.Errorf("%s, %s: exit %d, %q", name, args[0], o.code, o.stderr)
			}
		}
		if b, _ := os.ReadFile(index); string(b) != c.text {
			t.Errorf("%s: dataset.json was replaced", name)
		}
	}
	if got := len(glob(t, dir, "wavs/*/*.wav")); got != 2 {
		t.Errorf("%d of 2 wavs are left", got)
	}
}

func TestHelp(t *testing.T) {
	for _, c := range newApp(nil, nil).root.Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.Name())
		}
		if o := ok(t, c.Name(), "--help"); !strings.Contains(o, "Examples:") {
			t.Errorf("%s --help shows no example", c.Name())
		}
	}
	if o := ok(t, "help"); !strings.Contains(o, "Exit codes:") {
		t.Error("help does not say the exit codes")
	}
	if o := ok(t, "version"); !strings.HasPrefix(o, "melforge ") {
		t.Errorf("version says %q", o)
	}
}
