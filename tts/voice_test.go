package tts

import "testing"

func TestParseVoice(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Voice
	}{
		{"piper/jenny", Voice{"piper", "jenny", ""}},
		{"espeak/en-us+f3", Voice{"espeak", "en-us+f3", ""}},
		{"piper/libritts:12", Voice{"piper", "libritts", "12"}},
		{"piper/libritts:*", Voice{"piper", "libritts", AnySpeaker}},
		{"exec/flite-slt", Voice{"exec", "flite-slt", ""}},
	} {
		if got, err := ParseVoice(c.in); err != nil || got != c.want || got.String() != c.in {
			t.Errorf("ParseVoice(%q) = %+v, %v", c.in, got, err)
		}
	}
	for _, in := range []string{"", "jenny", "/", "piper/", "/jenny", "piper/-v", "piper/../x", "piper/a/b", "piper/a:", "piper/a:b:c", "piper/a:**", "piper/*", "piper/a b", "Piper/a", "piper/.a", "piper/a\n", "espeak/en;id"} {
		if v, err := ParseVoice(in); err == nil {
			t.Errorf("ParseVoice(%q) = %+v, want an error", in, v)
		}
	}
}

func FuzzParseVoice(f *testing.F) {
	for _, s := range []string{"piper/jenny", "espeak/en-us+f3", "piper/libritts:12", "a/b:c", "//:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseVoice(s); err == nil && v.String() != s {
			t.Errorf("%q became %q", s, v)
		}
	})
}
