package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/plan"
	"github.com/melforge/melforge/tts"
)

// BenchmarkPlan plans corpora of 250,000 to 1,000,000 lines, each line
// another, and reports lines a second, the heap in use at the end and the most
// memory that the process ever held. Linear means that lines/s stays.
func BenchmarkPlan(b *testing.B) {
	voices := tts.Open(tts.Options{})
	defer voices.Close()
	if _, err := voices.Resolve(context.Background(), "espeak/en-us"); err != nil {
		b.Skip(err)
	}
	config, err := mel.Preset("whisper-80")
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{250_000, 500_000, 1_000_000} {
		b.Run(fmt.Sprintf("lines=%d", n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "corpus.txt")
			writeLines(b, path, n)
			for b.Loop() {
				planOnce(b, path, n, plan.Options{
					Speech: true, Mel: &config, Voices: voices, Jobs: 2,
					Variety:  plan.Variety{Voices: []plan.Choice{{Voice: "espeak/en-us", Weight: 1}}, Speed: plan.Range{Low: 1, High: 1}},
					Settings: manifests.Settings{Rate: config.Rate, ShardSize: 512, MaxChars: tts.MaxChars},
				})
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(peakMB(b), "peak-RSS-MB")
		})
		debug.FreeOSMemory()
	}
}

func planOnce(b *testing.B, corpusFile string, n int, o plan.Options) {
	folder := datasets.At(filepath.Join(b.TempDir(), "d"))
	if err := folder.Prepare(); err != nil {
		b.Fatal(err)
	}
	r, err := corpus.Open(corpusFile, corpus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p, err := plan.Make(context.Background(), folder, r, o)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	if p.Counts.New != n {
		b.Fatalf("%d new clips, want %d", p.Counts.New, n)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
}

func writeLines(b *testing.B, path string, n int) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, "This is sentence number %d of a corpus that is as long as a user might bring.\n", i)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// peakMB is the most memory that this process ever held.
func peakMB(b *testing.B) float64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		var kb float64
		if n, _ := fmt.Sscanf(s.Text(), "VmHWM: %f kB", &kb); n == 1 {
			return kb / 1000
		}
	}
	b.Fatal(io.ErrUnexpectedEOF)
	return 0
}
