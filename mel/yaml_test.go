package mel

import (
	"strings"
	"testing"
)

func TestParseYAML(t *testing.T) {
	got, err := ParseYAML([]byte("name: mine\npreset: whisper-80\nn_mels: 64\nf_min: 50\n"))
	want := preset(t, "whisper-80")
	want.Name, want.NMels, want.FMin = "mine", 64, 50
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = ParseYAML([]byte(`
name: whole
rate: 8000
n_fft: 256
hop: 80
framing: centre
n_mels: 40
f_max: 4000
mel_scale: htk
mel_norm: none
log: ln
log_floor: 1e-10
divisor: 1
`))
	if err != nil || got.Framing != FramingCentre || got.Frames(8000) != 101 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, _, err := Values(got, noise(8000, 0)); err != nil {
		t.Errorf("a configuration without kernels: %v", err)
	}
}

func TestParseYAMLRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "has no name",
		"preset: whisper-80":                     "has no name",
		"name: x":                                "must be positive",
		"name: whisper-80\npreset: whisper-80":   "is the name of a preset",
		"name: x\npreset: whisper":               "unknown mel preset",
		"name: x\npreset: 7":                     "unknown mel preset",
		"name: x\npreset: whisper-80\nnmels: 64": `unknown field "nmels"`,
		"name: x\npreset: whisper-80\nn_mels: many": "cannot unmarshal string",
		"name: x\npreset: whisper-80\nn_mels: 0":    "must be positive",
		"name: x\npreset: whisper-80\nf_max: .nan":  "NaN",
		"name: [": "mel configuration: yaml",
		"- name":  "mel configuration: yaml",
	} {
		if _, err := ParseYAML([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseYAML(f *testing.F) {
	f.Add([]byte("name: mine\npreset: whisper-80\nn_mels: 64\n"))
	f.Add([]byte("name: mine\npreset: nemo-80\nwindow: povey\nframing: snip\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseYAML(text)
		if err == nil && c.Validate() != nil {
			t.Errorf("an invalid configuration passes: %+v", c)
		}
	})
}
