//go:build cgo && linux && !nohdf5

package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
)

// padded makes a dataset of one clip in one padded shard, having let change alter
// the shard's bytes, as a writer that goes wrong would: the checksum is right.
func padded(t *testing.T, change func(shard []byte)) Folder {
	t.Helper()
	f := At(t.TempDir())
	p := plan(t, f, item(manifests.StateNew, 1, "a"))
	cfg, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	p.Mel, p.Layout = &cfg, manifests.Padded
	m := made("a")
	m.Frames = cfg.Frames(m.Samples)
	wav := writeWav(t, f, m.Audio, m.Samples)
	m.Bytes, m.CRC32C = int64(len(wav)), Checksum(wav)

	file := ShardFile("00000-x")
	w, err := shards.CreatePadded(f.Path(file), cfg, []string{m.Key.String()}, []string{"Hello."}, []int{m.Frames})
	if err != nil {
		t.Fatal(err)
	}
	values := mel.Mel{Frames: make([]uint16, m.Frames*80), N: m.Frames, NMels: 80, Pad: 0xb800}
	if err := w.Put(0, values); err != nil {
		t.Fatal(err)
	}
	s, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Path(file))
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	if err := os.WriteFile(f.Path(file), b, 0o644); err != nil {
		t.Fatal(err)
	}
	s.File, s.Engine, s.CRC32C = file, "cpu", Checksum(b)
	if _, err := f.Index(p, []manifests.Result{{Name: "00000-x", Made: []manifests.Made{m}, Shard: &s}}); err != nil {
		t.Fatal(err)
	}
	return f
}

func writeWav(t *testing.T, f Folder, file string, samples int) []byte {
	t.Helper()
	path := f.Path(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	b := audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: make([]int16, samples)})
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestVerifyPadded(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte)
		want   string
	}{
		"whole":       {func([]byte) {}, ""},
		"padding":     {func(b []byte) { b[len(b)-1] ^= 1 }, "not all after its 102 frames is its pad value"},
		"not finite":  {func(b []byte) { b[len(b)-80*3000*2+1] = 0x7c }, "not finite"},
		"frame count": {func(b []byte) { b[bytes.Index(b, []byte{102, 0, 0, 0, 0, 0, 0, 0})] = 101 }, "101 frames, want 102"},
	} {
		t.Run(name, func(t *testing.T) {
			f := padded(t, c.change)
			d, _, err := f.Load()
			if err != nil || d.Layout != manifests.Padded || d.Version != 2 {
				t.Fatalf("%+v, %v", d, err)
			}
			if in, err := f.Inspect(); err != nil || in.Layout != "padded" {
				t.Errorf("inspect: %+v, %v", in, err)
			}
			r, err := f.Verify(VerifyOptions{ReadData: true})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(r.Problems) > 0 {
					t.Fatalf("problems: %+v", r.Problems)
				}
				return
			}
			if len(r.Problems) == 0 || !strings.Contains(r.Problems[0].Detail, c.want) {
				t.Fatalf("problems: %+v, want %q", r.Problems, c.want)
			}
			if err := f.RemoveDamaged(d, r); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(f.Path(d.Shards[0].File)); !os.IsNotExist(err) {
				t.Errorf("the damaged shard is still there: %v", err)
			}
		})
	}
}
