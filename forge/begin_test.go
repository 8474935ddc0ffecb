package forge

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// tone is a sound that passes the gates.
func tone(rate, n int) []byte {
	p := audio.PCM{Rate: rate, Samples: make([]int16, n)}
	for j := range p.Samples {
		p.Samples[j] = int16(j * 41 % 9000)
	}
	return audio.AppendWAV(nil, p)
}

// TestBegin wants the bytes of a shard whose file was begun before its clips to
// be those of one that was written after them, whatever becomes of the clips.
func TestBegin(t *testing.T) {
	wav := func(b *bench, name string, data []byte) error {
		return os.WriteFile(b.folder.Path(name), data, 0o644)
	}
	for name, c := range map[string]struct {
		before func(b *bench, items []manifests.Item) error // the file is begun
		after  func(b *bench) error                         // and the clips are read
		again  bool                                         // a wav has changed, which shows
		begun  bool
	}{
		"third silent": {begun: true},
		"all pass":     {begun: true, before: func(b *bench, _ []manifests.Item) error { return wav(b, "2.wav", tone(16000, 9999)) }},
		"padded": {begun: true, before: func(b *bench, _ []manifests.Item) error {
			b.plan.Layout = manifests.Padded
			return nil
		}},
		"resampled": {begun: true, before: func(b *bench, _ []manifests.Item) error {
			return errors.Join(wav(b, "2.wav", tone(44100, 30001)), wav(b, "4.wav", tone(8000, 7001)))
		}},
		"gone, cut, too long": {begun: true, before: func(b *bench, _ []manifests.Item) error {
			return errors.Join(os.Remove(b.folder.Path("0.wav")), wav(b, "3.wav", tone(16000, 5000)[:5000]), wav(b, "5.wav", tone(16000, 31*16000)))
		}},
		"part": {begun: true, before: func(b *bench, items []manifests.Item) error {
			items[1].Part = gates.Part{From: 500, To: 3777}
			return nil
		}},
		"wavs of the dataset": {begun: true, before: func(b *bench, items []manifests.Item) error {
			items[4].Audio = ""
			path := b.folder.Path(datasets.WavFile(items[4].Key))
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, tone(16000, 6000), 0o644))
		}},
		"part that is missing": {before: func(b *bench, items []manifests.Item) error {
			items[4].Audio = ""
			return nil
		}},
		"longer meanwhile":   {begun: true, again: true, after: func(b *bench) error { return wav(b, "3.wav", tone(16000, 20000)) }},
		"appears meanwhile":  {begun: true, again: true, after: func(b *bench) error { return wav(b, "2.wav", tone(16000, 9000)) }, before: func(b *bench, _ []manifests.Item) error { return os.Remove(b.folder.Path("2.wav")) }},
		"vanishes meanwhile": {begun: true, after: func(b *bench) error { return os.Remove(b.folder.Path("0.wav")) }},
		"same length, silent": {begun: true, after: func(b *bench) error {
			return wav(b, "1.wav", audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: make([]int16, 4001)}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 7)
			items, err := readItems(b.folder, b.plan, b.plan.Shards[0])
			if err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				if err := c.before(b, items); err != nil {
					t.Fatal(err)
				}
			}
			m := b.forge.newMaking(b.folder, b.plan, b.plan.Shards[0], items)
			if err := m.begin(context.Background(), items); err != nil || (m.file != nil) != c.begun {
				t.Fatalf("begun: %v, %v; want %v", m.file != nil, err, c.begun)
			}
			if c.after != nil {
				if err := c.after(b); err != nil {
					t.Fatal(err)
				}
			}
			got, gotBytes := b.finish(t, m, items)
			if c.begun && m.stale != c.again {
				t.Errorf("begun again: %v, want %v", m.stale, c.again)
			}
			want, wantBytes := b.finish(t, b.forge.newMaking(b.folder, b.plan, b.plan.Shards[0], items), items)
			if *got.Shard != *want.Shard || !bytes.Equal(gotBytes, wantBytes) {
				t.Errorf("made %+v, want %+v", got.Shard, want.Shard)
			}
		})
	}
}

// finish makes a shard from where it is, and returns its bytes too.
func (b *bench) finish(t *testing.T, m *making, items []manifests.Item) (manifests.Result, []byte) {
	t.Helper()
	if err := m.sounds(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	if m.file != nil && !m.gaps.Load() && len(m.memory.lent) > 0 {
		t.Error("mels were kept in memory though no clip was rejected")
	}
	r, err := m.finish(context.Background(), func() {})
	if err != nil || r.Shard == nil {
		t.Fatalf("made %+v, %v", r, err)
	}
	data, err := os.ReadFile(b.folder.Path(r.Shard.File))
	if err != nil {
		t.Fatal(err)
	}
	return r, data
}

// TestBegunOnFullDisk blames the disk, not a clip, and leaves nothing.
func TestBegunOnFullDisk(t *testing.T) {
	b := newBench(t, 40)
	dir := filepath.Dir(b.folder.Path(datasets.ShardFile("00000-x")))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk (%v): run as root", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("something is still open: %v", err)
		}
	}()
	if err := os.WriteFile(b.folder.Path("2.wav"), tone(16000, 4002), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := b.forge.Make(context.Background(), b.folder, b.plan, b.plan.Shards[0])
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "shard 00000-x: shard "+dir) {
		t.Errorf("got %v, want no space left", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// broken is an engine that fails.
type broken struct{ mel.Engine }

func (broken) Clip(context.Context, int) (mel.Clip, error) { return nil, errors.New("broken") }

// TestBegunIsRemoved wants nothing to be left of a file that was begun in vain.
func TestBegunIsRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench)
		err    string
	}{
		"all rejected": {func(b *bench) { b.plan.Settings.Gates.MinPeak = 1 }, ""},
		"engine fails": {func(b *bench) { b.forge.engine = broken{b.forge.engine} }, "broken"},
	} {
		b := newBench(t, 4)
		c.change(b)
		r, err := b.forge.Make(context.Background(), b.folder, b.plan, b.plan.Shards[0])
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || r.Shard != nil {
			t.Errorf("%s: made %+v, %v", name, r, err)
		}
		shard := b.folder.Path(datasets.ShardFile("00000-x"))
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(shard), ".*")); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}
