package forge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
	"github.com/melforge/melforge/tts"
)

// bench is a forge with a plan of n given wavs, the third of them silent.
type bench struct {
	forge    *Forge
	progress *Progress
	folder   datasets.Folder
	plan     *manifests.Plan
}

func newBench(t *testing.T, n int) *bench {
	t.Helper()
	c, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := mel.NewCPU(c, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	b := &bench{progress: new(Progress), folder: datasets.At(t.TempDir())}
	b.forge = New(tts.Open(tts.Options{}), engine, 2, b.progress)
	if err := b.folder.Prepare(); err != nil {
		t.Fatal(err)
	}
	b.plan = &manifests.Plan{
		Version: manifests.PlanVersion, Items: datasets.ItemsFile(), Mel: &c,
		Settings: manifests.Settings{Rate: c.Rate, Gates: gates.Config{MaxSeconds: 30, MinPeak: 0.01}},
	}
	var items strings.Builder
	w := manifests.NewWriter(&items)
	for i := range n {
		p := audio.PCM{Rate: 16000, Samples: make([]int16, 4000+i)}
		for j := range p.Samples {
			if i != 2 {
				p.Samples[j] = int16(j * 37 % 9000)
			}
		}
		path := filepath.Join(b.folder.Dir(), fmt.Sprintf("%d.wav", i))
		if err := os.WriteFile(path, audio.AppendWAV(nil, p), 0o644); err != nil {
			t.Fatal(err)
		}
		it := manifests.Item{State: manifests.StateNew, Line: i + 1, ID: fmt.Sprint(i), Key: manifests.NewKey(path), Audio: path}
		if err := w.Write(&it); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(b.folder.Path(b.plan.Items), []byte(items.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	b.plan.Shards = []manifests.ShardPlan{{Name: "00000-x", Clips: n, Bytes: int64(items.Len())}}
	return b
}

// otherwise is an engine whose clips are computed in another way.
type otherwise struct {
	mel.Engine
	compute func(context.Context, mel.Clip) (mel.Mel, error)
}

type otherwiseClip struct {
	mel.Clip
	engine *otherwise
}

func (e *otherwise) Clip(ctx context.Context, n int) (mel.Clip, error) {
	c, err := e.Engine.Clip(ctx, n)
	return &otherwiseClip{c, e}, err
}

func (c *otherwiseClip) Compute(ctx context.Context) (mel.Mel, error) {
	return c.engine.compute(ctx, c.Clip)
}

func (b *bench) make(t *testing.T) manifests.Result {
	t.Helper()
	r, err := b.forge.Make(context.Background(), b.folder, b.plan, b.plan.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMake(t *testing.T) {
	b := newBench(t, 5)
	r := b.make(t)
	if len(r.Made) != 4 || len(r.Rejects) != 1 || r.Rejects[0].Reason != gates.Silent || r.Rejects[0].Line != 3 {
		t.Fatalf("result is %+v", r)
	}
	if now := b.progress.Now(); now.Clips != 4 || now.Rejects != 1 {
		t.Errorf("progress is %+v", now)
	}
	s, err := shards.Open(b.folder.Path(r.Shard.File))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for row, m := range r.Made {
		got, err := s.Read(row)
		if err != nil || s.Keys()[row] != m.Key.String() || got.N != m.Frames || m.Frames != b.plan.Mel.Frames(m.Samples) {
			t.Errorf("row %d: %d frames, %v; made %+v", row, got.N, err, m)
		}
	}
}

// TestMakeWithoutMemory reads the wavs again where their samples could not be
// kept, and gives the same bytes.
func TestMakeWithoutMemory(t *testing.T) {
	b := newBench(t, 3)
	want := b.make(t)
	items, err := readItems(b.folder, b.plan, b.plan.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	m := b.forge.newMaking(b.folder, b.plan, b.plan.Shards[0], items)
	m.budget.Store(0)
	if err := m.sounds(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	var r manifests.Result
	got, err := m.write(context.Background(), m.settle(&r), func() {})
	if err != nil || *got != *want.Shard {
		t.Errorf("shard is %+v, %v; want %+v", got, err, want.Shard)
	}
}

func TestResume(t *testing.T) {
	b := newBench(t, 4)
	want := b.make(t)
	shard := b.folder.Path(want.Shard.File)
	before, err := os.Stat(shard)
	if err != nil {
		t.Fatal(err)
	}
	if r := b.make(t); len(r.Made) != 3 || r.Cost != (manifests.Cost{}) {
		t.Errorf("resumed as %+v", r)
	}
	if after, _ := os.Stat(shard); !os.SameFile(before, after) {
		t.Error("a complete shard was made again")
	}
	// Anything wrong with it only means that it is made again.
	for name, damage := range map[string]func() error{
		"shard cut":      func() error { return os.Truncate(shard, before.Size()-1) },
		"shard gone":     func() error { return os.Remove(shard) },
		"result damaged": func() error { return os.Truncate(b.folder.Path(datasets.ResultFile("00000-x")), 9) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if r := b.make(t); *r.Shard != *want.Shard {
			t.Errorf("%s: made %+v, want %+v", name, r.Shard, want.Shard)
		}
		if err := shards.Check(shard, *want.Shard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongItems(t *testing.T) {
	b := newBench(t, 3)
	b.plan.Shards[0].Clips = 4
	_, err := b.forge.Make(context.Background(), b.folder, b.plan, b.plan.Shards[0])
	if err == nil || !strings.Contains(err.Error(), "holds 3 clips") {
		t.Errorf("error %v", err)
	}
}

func TestGroup(t *testing.T) {
	boom := errors.New("boom")
	err := group(context.Background(), 100, 4, func(_ context.Context, i int) error {
		if i == 50 {
			return boom
		}
		return nil
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	err = group(context.Background(), 3, 2, func(context.Context, int) error { panic("oh no") })
	if err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a panic gave %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := group(ctx, 3, 2, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled group gave %v", err)
	}
	if err := group(context.Background(), 0, 2, nil); err != nil {
		t.Errorf("an empty group gave %v", err)
	}
}
