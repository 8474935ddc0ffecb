package tts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/melforge/melforge/audio"
)

// talker writes a script that speaks, and returns a folder with it. What it
// makes depends on its text, arguments and nothing else.
func talker(t *testing.T, body string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	dir := t.TempDir()
	wav := audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: slices.Repeat([]int16{5000, -5000}, 800)})
	if err := os.WriteFile(filepath.Join(dir, "good.wav"), wav, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "talk"), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func execSet(t *testing.T, dir string, v ExecVoice, log func(string)) *Set {
	v.dir = dir
	t.Setenv("TMPDIR", t.TempDir())
	s := Open(Options{Configured: Configured{Exec: map[string]ExecVoice{"talk": v}}, Jobs: 2, Log: log})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return s
}

func execSays(text string) Utterance {
	return Utterance{Text: text, Voice: Voice{Engine: "exec", Name: "talk"}, Speed: 1}
}

func TestExecPlaceholders(t *testing.T) {
	dir := talker(t, `pwd >"$9/cwd"; cat "$1" >"$9/text"; shift; cp "$8/good.wav" "$1"; printf '%s\n' "$@" >"$8/args"; touch stray`)
	s := execSet(t, dir, ExecVoice{
		Command: []string{"./talk", "{text_file}", "{wav_file}", "v={voice}", "{speed}", "{stretch}", "{percent}", "{pitch}", "$(touch x) `id` ; * {voice}", "{dir}"},
		Voice:   "a b{speed}",
	}, nil)
	u := execSays("-w; $(touch x) {dir}")
	u.Speed, u.Pitch = 1.25, -2
	if p, err := s.Speak(t.Context(), u); err != nil || p.Rate != 16000 || len(p.Samples) != 1600 {
		t.Fatalf("%d samples at %d Hz, %v", len(p.Samples), p.Rate, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(args)), "\n")[1:]
	want := []string{"v=a b{speed}", "1.25", "0.8", "125", "-2", "$(touch x) `id` ; * a b{speed}", dir}
	if !slices.Equal(got, want) {
		t.Errorf("arguments %q, want %q", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "text")); string(text) != u.Text+"\n" {
		t.Errorf("text %q, %v", text, err)
	}
	if cwd, err := os.ReadFile(filepath.Join(dir, "cwd")); !strings.Contains(string(cwd), "melforge-exec-") {
		t.Errorf("it ran in %q, %v", cwd, err)
	}
}

func TestExecFailures(t *testing.T) {
	// It speaks its probe and then does what the text says.
	const body = `read -r text; case $text in
fail) echo no such phoneme >&2; exit 3;;
hang) sleep 1000 & wait;;
leave) sleep 1000 >/dev/null 2>&1 & cat "$1/good.wav";;
much) while :; do cat /dev/zero; done;;
none) ;;
junk) echo this is no wav;;
cut) head -c 100 "$1/good.wav";;
crash) kill -SEGV $$;;
*) cat "$1/good.wav";;
esac`
	dir := talker(t, body)
	v := ExecVoice{Command: []string{"./talk", "{dir}"}}
	s := execSet(t, dir, v, nil)
	for text, want := range map[string]string{
		"fail": ReasonEngineFailed, "none": ReasonNoAudio, "junk": ReasonEngineFailed, "cut": ReasonEngineFailed,
		"crash": ReasonEngineDied, "much": ReasonAudioTooLong,
	} {
		if _, err := s.Speak(t.Context(), execSays(text)); reason(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"fine", "leave"} {
		if _, err := s.Speak(t.Context(), execSays(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	fast, high := execSays("x"), execSays("x")
	fast.Speed, high.Pitch = 2, 1
	if _, err := s.Speak(t.Context(), fast); reason(err) != ReasonBadSpeed {
		t.Errorf("speed: %v", err)
	}
	if _, err := s.Speak(t.Context(), high); reason(err) != ReasonPitchUnsupported {
		t.Errorf("pitch: %v", err)
	}
	v.Probe = "fail"
	if _, err := execSet(t, dir, v, nil).Speak(t.Context(), execSays("fine")); err == nil || reason(err) != "" || !strings.Contains(err.Error(), "no such phoneme") {
		t.Errorf("a voice that does not work: %v, want a plain error", err)
	}
	v.Probe, v.Limit = "", 300*time.Millisecond
	if _, err := execSet(t, dir, v, nil).Speak(t.Context(), execSays("hang")); reason(err) != ReasonEngineTimeout {
		t.Errorf("hang: %v", err)
	}
	if _, err := execSet(t, dir, ExecVoice{Command: []string{"no-such-program"}}, nil).Speak(t.Context(), execSays("x")); err == nil || !strings.Contains(err.Error(), "install it") {
		t.Errorf("no program: %v", err)
	}
}

// A file without end is stopped, too.
func TestExecFileLimit(t *testing.T) {
	c := command{path: "/bin/sh", args: []string{"-c", "while :; do echo 0123456789; done >file"}, timeout: time.Minute, maxOutput: 10, maxFile: 1 << 16, dir: t.TempDir()}
	if _, err := c.run(t.Context()); reason(err) != ReasonAudioTooLong {
		t.Errorf("%v, want %s", err, ReasonAudioTooLong)
	}
}

func TestExecFingerprint(t *testing.T) {
	const body = `cat >/dev/null; cat "$1/good.wav"`
	voice := Voice{Engine: "exec", Name: "talk"}
	dir := talker(t, body)
	model := filepath.Join(dir, "model")
	if err := os.WriteFile(model, []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := ExecVoice{Command: []string{"./talk", "{dir}"}, Files: []string{"model"}, VersionCommand: []string{"echo", "1.0"}}
	prints := make(map[string]string)
	look := func(what, dir string, v ExecVoice) string {
		t.Helper()
		p, err := execSet(t, dir, v, func(line string) { t.Errorf("%s: %s", what, line) }).Fingerprint(t.Context(), voice)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := prints[p]; ok && other != what {
			t.Errorf("%s has the fingerprint of %s", what, other)
		}
		prints[p] = what
		return p
	}
	first := look("base", dir, base)
	if again := look("base", dir, base); again != first {
		t.Errorf("a fingerprint is %q and then %q", first, again)
	}
	argv, version, said := base, base, base
	argv.Command = []string{"./talk", "{dir}", "more"}
	version.Version = "2"
	said.VersionCommand = []string{"echo", "2.0"}
	look("arguments", dir, argv)
	look("version", dir, version)
	look("version command", dir, said)
	if err := os.WriteFile(model, []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	look("model", dir, base)
	other := talker(t, "# changed\n"+body)
	if err := os.WriteFile(filepath.Join(other, "model"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	look("program", other, base)

	// One that never says the same twice is warned of.
	warned := 0
	fickle := talker(t, `cat >/dev/null; if [ -e "$1/was" ]; then cat "$1/good.wav"; else touch "$1/was"; cat "$1/other.wav"; fi`)
	wav := audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: []int16{1, 2, 3}})
	if err := os.WriteFile(filepath.Join(fickle, "other.wav"), wav, 0o644); err != nil {
		t.Fatal(err)
	}
	set := execSet(t, fickle, ExecVoice{Command: []string{"./talk", "{dir}"}}, func(string) { warned++ })
	if _, err := set.Fingerprint(t.Context(), voice); err != nil || warned != 1 {
		t.Errorf("warned %d times, %v; want once", warned, err)
	}
}

func TestReadVoices(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "voices.yaml")
	good := `exec:
  slt:
    command: [flite, -voice, slt, -f, "{text_file}", -o, "{wav_file}"]
    lang: en-us
    license: BSD
    timeout: 20s
    estimate: {seconds_per_char: 0.06, audio_seconds_per_core_second: 60}
http:
  nova: {url: "http://localhost:1", model: tts-1, voice: nova, key_file: key, requests_per_second: 2}
`
	if err := os.WriteFile(path, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := ReadVoices(path)
	if err != nil || c.Exec["slt"].dir != dir || c.Exec["slt"].Limit != 20*time.Second || c.HTTP["nova"].KeyFile != filepath.Join(dir, "key") {
		t.Fatalf("%+v, %v", c, err)
	}
	s := Open(Options{Configured: c})
	if e := s.Estimate(Voice{Engine: "exec", Name: "slt"}); e.SecondsPerChar != 0.06 || e.AudioSecondsPerCoreSecond != 60 {
		t.Errorf("estimate %+v", e)
	}
	for name, want := range map[string]string{"slt": "exec/slt", "exec/slt": "exec/slt", "nova": "http/nova"} {
		if v, err := s.Resolve(t.Context(), name); err != nil || v.String() != want {
			t.Errorf("Resolve(%q) = %v, %v", name, v, err)
		}
	}
	for _, name := range []string{"exec/none", "exec/slt:3", "http/none"} {
		if v, err := s.Resolve(t.Context(), name); err == nil {
			t.Errorf("Resolve(%q) = %v", name, v)
		}
	}
	for text, want := range map[string]string{
		"exec: {a: {comand: [x]}}":                                                  "comand",
		"exec: {a: {lang: en}}":                                                     "no command",
		"exec: {a/b: {command: [x]}}":                                               "letters, digits",
		"exec: {a: {command: [x, '{nope}']}}":                                       "unknown placeholder {nope}",
		"http: {a: {url: 'ftp://x', model: m, voice: v}}":                           "url",
		"http: {a: {url: 'http://u:p@x', model: m, voice: v}}":                      "no user, password",
		"http: {a: {url: 'http://x?key=1', model: m, voice: v}}":                    "no user, password",
		"http: {a: {url: 'http://x', model: m}}":                                    "model and voice",
		"http: {a: {url: 'http://x', model: m, voice: v, key_env: A, key_file: b}}": "give one",
		"http: {a: {url: 'http://x', model: m, voice: v, key: sk-secret}}":          "key",
		"http: {a: {url: 'http://x', model: m, voice: v, requests_per_second: -1}}": "below 0",
		strings.Repeat("#", maxVoicesFile+1):                                        "limit",
		"exec: [":                                                                   "yaml",
	} {
		if _, err := parseVoices([]byte(text), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want an error with %q", text, err, want)
		}
	}
	if c, err := parseVoices(nil, dir); err != nil || len(c.Exec) != 0 {
		t.Errorf("an empty file: %+v, %v", c, err)
	}
}

func FuzzReadVoices(f *testing.F) {
	f.Add([]byte("exec: {a: {command: [x, '{dir}']}}\nhttp: {b: {url: 'http://x', model: m, voice: v}}"))
	f.Add([]byte("exec: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseVoices(b, "/x")
		if err != nil {
			return
		}
		for name, v := range c.Exec {
			if len(v.Command) == 0 || !voiceName.MatchString(name) {
				t.Errorf("%q: %+v", name, v)
			}
		}
	})
}
