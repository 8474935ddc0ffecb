package forge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// instant is an engine that takes no time: every mel is the start of the same
// frames. What a shard costs besides computing is then all that there is.
func instant(e mel.Engine) mel.Engine {
	cfg := e.Config()
	frames := make([]uint16, cfg.Frames(cfg.MaxSamples())*cfg.NMels)
	return &otherwise{e, func(_ context.Context, c mel.Clip) (mel.Mel, error) {
		n := cfg.Frames(len(c.Samples()))
		return mel.Mel{Frames: frames[:n*cfg.NMels], N: n, NMels: cfg.NMels}, nil
	}}
}

const beginClips = 1000

// BenchmarkBegin compares a shard whose file is begun before its clips, so that
// mels go there from the engine's memory, with one whose mels are copied and kept
// until all clips are there; where clips are rejected, rows move in the file.
// Both are measured in every round, and the medians of their ratios count: below
// 1 the former is faster. What is copied is in megabytes.
func BenchmarkBegin(b *testing.B) {
	cfg, err := mel.Preset("whisper-80")
	if err != nil {
		b.Fatal(err)
	}
	cpu, err := mel.NewCPU(cfg, 2)
	if err != nil {
		b.Fatal(err)
	}
	defer cpu.Close()
	engine := instant(cpu)
	for _, rejected := range []int{0, 1, 10} { // of a thousand
		b.Run(fmt.Sprintf("rejected=%d", rejected), func(b *testing.B) {
			f := New(tts.Open(tts.Options{}), engine, 2, new(Progress))
			p := &manifests.Plan{Mel: &cfg, Settings: manifests.Settings{Rate: cfg.Rate, Gates: givenGates()}}
			dir := b.TempDir()
			items := wavItems(b, dir, rejected)
			r := rounds{}
			for b.Loop() {
				round := func(name string, begin bool) {
					folder := datasets.At(filepath.Join(dir, name))
					if err := folder.Prepare(); err != nil {
						b.Fatal(err)
					}
					r.time(b, name, func() { r.add(name+"-copied", copied(b, f, folder, p, items, begin)) })
					if err := os.RemoveAll(folder.Dir()); err != nil {
						b.Fatal(err)
					}
				}
				if len(r["begun"])%2 == 0 {
					round("begun", true)
					round("kept", false)
				} else {
					round("kept", false)
					round("begun", true)
				}
				r.add("begun/kept", r.last("begun")/r.last("kept"))
				r.add("begun/kept-CPU", r.last("begun-CPU")/r.last("kept-CPU"))
			}
			b.ReportMetric(0, "ns/op")
			for _, name := range []string{"begun/kept", "begun/kept-CPU", "begun-copied", "kept-copied"} {
				slices.Sort(r[name])
				b.ReportMetric(r[name][len(r[name])/2], name)
			}
		})
	}
}

// wavItems makes wavs of 5 s, of which so many are silent, evenly spread.
func wavItems(b *testing.B, dir string, silent int) (items []manifests.Item) {
	b.Helper()
	loud := tone(16000, 5*16000)
	quiet := append(slices.Clone(loud[:44]), make([]byte, len(loud)-44)...)
	for i := range beginClips {
		data := loud
		if silent > 0 && i%(beginClips/silent) == beginClips/silent/2 {
			data = quiet
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.wav", i))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			b.Fatal(err)
		}
		items = append(items, manifests.Item{State: manifests.StateNew, Line: i + 1, ID: fmt.Sprint(i), Key: manifests.NewKey(path), Audio: path})
	}
	return items
}

// copied makes a shard and returns the megabytes of mels that were kept in memory.
func copied(b *testing.B, f *Forge, folder datasets.Folder, p *manifests.Plan, items []manifests.Item, begin bool) float64 {
	ctx := context.Background()
	m := f.newMaking(folder, p, manifests.ShardPlan{Name: "00000-x", Clips: len(items)}, items)
	if begin {
		if err := m.begin(ctx, items); err != nil || m.file == nil {
			b.Fatalf("not begun: %v", err)
		}
	}
	if err := m.sounds(ctx, items); err != nil {
		b.Fatal(err)
	}
	kept := 0
	for i := range m.clips {
		kept += 2 * len(m.clips[i].mel.Frames)
	}
	if _, err := m.finish(ctx, func() {}); err != nil {
		b.Fatal(err)
	}
	return float64(kept) / 1e6
}
