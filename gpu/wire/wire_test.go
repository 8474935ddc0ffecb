package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/melforge/melforge/mel"
)

func preset(t testing.TB, name string) mel.Config {
	t.Helper()
	c, err := mel.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLayout(t *testing.T) {
	for _, name := range mel.Presets() {
		c := preset(t, name)
		for _, samples := range []int{1, 480000, 1 << 20, 8110081} {
			l := NewLayout(c, 3, samples)
			memory := make([]byte, l.Bytes())
			for slot := range l.Slots {
				for _, part := range [][]byte{l.SamplesOf(memory, slot), l.OutputOf(memory, slot)} {
					for i := range part {
						part[i]++
					}
				}
			}
			for i, v := range memory {
				if v > 1 {
					t.Fatalf("%s, %d samples: byte %d lies in two places", name, samples, i)
				}
			}
			if l.Samples < MaxClip(c) || uint64(l.Out) < l.OutOf(uint64(c.Frames(MaxClip(c)))) {
				t.Errorf("%s, %d samples: the longest clip does not fit %+v", name, samples, l)
			}
			if seconds := l.Samples / c.Rate; uint64(l.Out) < uint64(seconds)*l.OutOf(uint64(c.Frames(c.Rate))) {
				t.Errorf("%s, %d samples: clips of a second do not fill %+v", name, samples, l)
			}
		}
	}
}

func TestTiming(t *testing.T) {
	a := Timing{In: time.Second, Compute: 2, Out: 3}
	a.Add(Timing{In: 1, Compute: 1, Out: 1})
	if b, err := DecodeTiming(a.Encode()); err != nil || b != a {
		t.Errorf("%v, %v", b, err)
	}
	if _, err := DecodeTiming(nil); err == nil {
		t.Error("nothing was read as a timing")
	}
}

func TestSetup(t *testing.T) {
	c := preset(t, "whisper-80")
	good := Setup{Device: 1, Config: c, Memory: "/proc/1/fd/9", Layout: NewLayout(c, 2, 1), Chunk: 1, Buffers: 3}
	arg, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := DecodeSetup(arg); err != nil || s != good {
		t.Errorf("%+v, %v", s, err)
	}
	for want, spoil := range map[string]func(*Setup){
		"impossible layout": func(s *Setup) { s.Layout.Slots = 0 },
		"0 buffers":         func(s *Setup) { s.Buffers = 0 },
		"not of 434":        func(s *Setup) { s.Config.NFFT = 434 },
		"not of 8192":       func(s *Setup) { s.Config.NFFT = 8192 },
		"up to 512 mels":    func(s *Setup) { s.Config.NMels = 600 },
		"clips of up to":    func(s *Setup) { s.Config.ChunkSeconds = 3600 },
	} {
		s := good
		spoil(&s)
		arg, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeSetup(arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	l := NewLayout(preset(f, "whisper-80"), 2, 1<<20)
	f.Add(Batch{Slot: 1, Clips: []Clip{{At: 8, Samples: 100, Out: 16, Frames: 2}}}.Encode())
	f.Add(Batch{Clips: []Clip{{Samples: 1, Frames: 1 << 31}, {At: 8, Samples: 1, Frames: 1}}}.Encode())
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, req []byte) {
		b, err := DecodeBatch(req, l)
		if err != nil {
			return
		}
		if string(b.Encode()) != string(req) {
			t.Errorf("%x was read as %+v", req, b)
		}
		for _, c := range b.Clips {
			if uint64(c.At)+uint64(c.Samples) > uint64(l.Samples) || uint64(c.Out)+l.OutOf(uint64(c.Frames)) > uint64(l.Out) {
				t.Errorf("%+v lies outside", c)
			}
		}
	})
}
