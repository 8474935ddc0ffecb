package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/gates"
)

// hum is a sound that passes every gate.
func hum(rate int, seconds float64) audio.PCM {
	p := audio.PCM{Rate: rate, Samples: make([]int16, int(seconds*float64(rate)))}
	for i := range p.Samples {
		t := float64(i) / float64(rate)
		p.Samples[i] = int16(9000 * math.Sin(2*math.Pi*220*t) * (1.2 + math.Sin(2*math.Pi*3*t)) / 2.2)
	}
	return p
}

// floatWAV is a wav of 32-bit floats.
func floatWAV(rate int, samples []float32) []byte {
	le := binary.LittleEndian
	size := uint32(4 * len(samples))
	b := le.AppendUint32([]byte("RIFF"), 36+size)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 3), 1)
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(4*rate))
	b = le.AppendUint16(le.AppendUint16(b, 4), 32)
	b = le.AppendUint32(append(b, "data"...), size)
	for _, s := range samples {
		b = le.AppendUint32(b, math.Float32bits(s))
	}
	return b
}

// floats is a sound as an engine has it before it is rounded.
func floats(p audio.PCM) []float32 {
	out := make([]float32, len(p.Samples))
	for i, s := range p.Samples {
		out[i] = float32(s) / 32768
	}
	return out
}

// TestDamagedSpeech lets a voice of the user's own make what voices make when
// they fail. None of it comes into the dataset, each has its reason, and the
// texts between are there.
func TestDamagedSpeech(t *testing.T) {
	good := hum(22050, 2)
	nan, inf := floats(good), floats(good)
	nan[len(nan)/2], inf[7] = float32(math.NaN()), float32(math.Inf(-1))
	loud := hum(22050, 2)
	for i := range loud.Samples {
		loud.Samples[i] = int16(min(max(12*int(loud.Samples[i]), -32768), 32767))
	}
	mislabelled := audio.AppendWAV(nil, hum(22050, 2))
	binary.LittleEndian.PutUint32(mislabelled[24:], 8*22050) // would sound eight times as fast
	binary.LittleEndian.PutUint32(mislabelled[28:], 2*8*22050)
	impossible := audio.AppendWAV(nil, hum(22050, 2))
	binary.LittleEndian.PutUint32(impossible[24:], 7)
	whole := audio.AppendWAV(nil, good)

	cases := []struct {
		name           string
		wav            []byte
		reason, detail string // "" for a clip that is taken
	}{
		{"fine", whole, "", ""},
		{"nan", floatWAV(22050, nan), "engine-failed", "sample 22050 is NaN"},
		{"inf", floatWAV(22050, inf), "engine-failed", "sample 7 is -Inf"},
		{"floats", floatWAV(22050, floats(good)), "", ""},
		{"mislabelled", mislabelled, gates.Pace, "the text takes at least"},
		{"impossible", impossible, "engine-failed", "sample rate 7"},
		{"silent", audio.AppendWAV(nil, audio.PCM{Rate: 22050, Samples: make([]int16, 44100)}), gates.Silent, "peak 0.00000"},
		{"clipped", audio.AppendWAV(nil, loud), gates.Clipped, "at full scale"},
		{"cut", whole[:len(whole)/2], "engine-failed", "truncated"},
		{"empty", nil, "no-audio", "made no sound"},
		{"other", audio.AppendWAV(nil, hum(44100, 2)), "", ""},
	}
	folder := t.TempDir()
	var lines []string
	for _, c := range cases {
		if err := os.WriteFile(filepath.Join(folder, c.name+".wav"), c.wav, 0o644); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, c.name+"|This is what the voice is asked to say.|"+c.name+" is what it is asked to say.")
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// It says what its text begins with; its probe is "1, 2, 3.".
	write("voice.sh", "read -r word rest\ncd \""+folder+"\" || exit 1\n[ -f \"$word.wav\" ] || word=fine\nexec cat \"$word.wav\"\n")
	voices := write("voices.yaml", "exec:\n  faulty:\n    command: [sh, '{dir}/voice.sh']\n    license: none\n")
	corpus := write("metadata.csv", strings.Join(lines, "\n")+"\n")
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, "run", corpus, "--format", "ljspeech", "--out", dir, "--voices-file", voices, "--voice", "exec/faulty", "--max-rejects", "100%")

	got := map[string]string{}
	for _, r := range rejects(t, dir) {
		got[r.ID] = r.Reason + ": " + r.Detail
	}
	for _, e := range entries(t, dir) {
		got[e.ID] = ""
		if e.Samples != 32000 {
			t.Errorf("%s has %d samples, want 2 s at 16 kHz", e.ID, e.Samples)
		}
	}
	if len(got) != len(cases) {
		t.Errorf("%d of %d lines are in the dataset or its rejects", len(got), len(cases))
	}
	for _, c := range cases {
		if g := got[c.name]; c.reason == "" && g != "" || c.reason != "" && (!strings.HasPrefix(g, c.reason+": ") || !strings.Contains(g, c.detail)) {
			t.Errorf("%s: %q, want %q with %q", c.name, g, c.reason, c.detail)
		}
	}
	ok(t, "verify", dir, "--read-data")
}

// TestDamagedWavs is the same for wavs that are given.
func TestDamagedWavs(t *testing.T) {
	src := t.TempDir()
	good := hum(16000, 2)
	nan := floats(good)
	nan[100] = float32(math.NaN())
	whole := audio.AppendWAV(nil, good)
	cases := map[string]struct {
		wav    []byte
		reason string
	}{
		"fine": {whole, ""}, "floats": {floatWAV(16000, floats(good)), ""}, "nan": {floatWAV(16000, nan), "bad-wav"},
		"silent": {audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: make([]int16, 16000)}), gates.Silent},
		"empty":  {audio.AppendWAV(nil, audio.PCM{Rate: 16000}), gates.NoAudio}, "cut": {whole[:len(whole)-7], "bad-wav"},
		"nothing": {nil, "bad-wav"}, "longer": {append(append([]byte{}, whole...), "LISTjunk"...), ""},
	}
	for name, c := range cases {
		if err := os.WriteFile(filepath.Join(src, name+".wav"), c.wav, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, "mel", src, "--out", dir, "--max-rejects", "100%")
	got := map[string]string{}
	for _, r := range rejects(t, dir) {
		got[r.ID] = r.Reason
	}
	for _, e := range entries(t, dir) {
		got[e.ID] = ""
	}
	for name, c := range cases {
		if g, there := got[name]; !there || g != c.reason {
			t.Errorf("%s: %q, %v; want %q", name, g, there, c.reason)
		}
	}
	ok(t, "verify", dir, "--read-data") // every checksum covers the whole file
}
