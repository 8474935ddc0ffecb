package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// BenchmarkIndex commits an index of 100,000 clips: of a new dataset, and once
// more when nothing is new.
func BenchmarkIndex(b *testing.B) {
	const clips, each = 100_000, 512
	cfg, err := mel.Preset("whisper-80")
	if err != nil {
		b.Fatal(err)
	}
	var items []manifests.Item
	var results []manifests.Result
	for i := range clips {
		if i%each == 0 {
			name := fmt.Sprintf("%05d", i/each)
			results = append(results, manifests.Result{Version: manifests.ResultVersion, Name: name, Shard: &manifests.Shard{
				File: ShardFile(name), Bytes: 1, Clips: each, NMels: cfg.NMels, Layout: manifests.Packed,
			}})
		}
		it := manifests.Item{
			State: manifests.StateNew, Line: i + 1, ID: fmt.Sprintf("%06d", i), Text: "what was said in that wav of some seconds",
			Key: manifests.NewKey(fmt.Sprint(i)), Audio: fmt.Sprintf("/data/wavs/%06d.wav", i), Shard: i / each,
		}
		items = append(items, it)
		r := &results[len(results)-1]
		r.Made = append(r.Made, manifests.Made{
			Key: it.Key, Audio: it.Audio, Frames: 500,
			Clip: manifests.Clip{Samples: 80000, Peak: 0.5, RMS: 0.1, Loudness: -23.1, Bytes: 160044, CRC32C: "01234567"},
		})
	}
	f := At(b.TempDir())
	p := plan(b, f, items...)
	p.Mel, p.Layout = &cfg, manifests.Packed
	for _, again := range []bool{false, true} {
		b.Run(fmt.Sprintf("again=%v", again), func(b *testing.B) {
			made := results
			if again {
				made = nil
			}
			for b.Loop() {
				b.StopTimer()
				if !again {
					if err := os.Remove(f.Path(IndexName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
						b.Fatal(err)
					}
				}
				var err error
				if _, p.Base, err = f.Load(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				d, err := f.Index(p, made)
				if err != nil || d.Totals.Clips != clips {
					b.Fatal(d, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/clips, "ns/clip")
		})
	}
}
