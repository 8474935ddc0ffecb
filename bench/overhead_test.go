package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/pipelines"
	"github.com/melforge/melforge/plan"
	"github.com/melforge/melforge/transforms"
	"github.com/melforge/melforge/tts"
)

func TestMain(m *testing.M) {
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the runner's news are not ours
	os.Exit(m.Run())
}

// overhead compares three ways through the same texts, in turn and several
// times over:
//
//	engine    the voices alone, on all cores: nothing is kept
//	forge     a shard without Beam: speech, wavs, mels, HDF5
//	pipeline  everything: plan, Beam, shards, index
type overhead struct {
	voices *tts.Set
	voice  tts.Voice
	texts  []string
	mel    mel.Config
	jobs   int
}

// BenchmarkOverheadPiper is the one that counts: the default voice.
func BenchmarkOverheadPiper(b *testing.B) {
	worker, err := filepath.Abs("../bin/melforge-tts")
	if err == nil {
		_, err = os.Stat(worker)
	}
	if err != nil {
		b.Skipf("%v: make build first", err)
	}
	benchmarkOverhead(b, tts.Options{Worker: worker, CacheDir: b.TempDir()}, "piper/jenny", 48)
}

// BenchmarkOverheadEspeak has a voice that is thirty times as fast, so that
// everything else weighs thirty times as much.
func BenchmarkOverheadEspeak(b *testing.B) {
	benchmarkOverhead(b, tts.Options{}, "espeak/en-us", 400)
}

func newOverhead(b *testing.B, opts tts.Options, name string) *overhead {
	o := &overhead{jobs: runtime.NumCPU()}
	opts.Jobs = o.jobs
	o.voices = tts.Open(opts)
	b.Cleanup(func() { _ = o.voices.Close() })
	var err error
	if o.voice, err = o.voices.Resolve(context.Background(), name); err != nil {
		b.Skip(err)
	}
	if o.mel, err = mel.Preset("whisper-80"); err != nil {
		b.Fatal(err)
	}
	return o
}

func benchmarkOverhead(b *testing.B, opts tts.Options, name string, n int) {
	o := newOverhead(b, opts, name)
	for i := range n {
		o.texts = append(o.texts, fmt.Sprintf("Sentence %d says that the committee agreed on the late report.", i))
	}
	o.engine(b) // loads the voice
	var engine, shard, whole time.Duration
	for b.Loop() {
		engine += took(func() { o.engine(b) })
		shard += took(func() { o.forge(b) })
		whole += took(func() { o.pipeline(b) })
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n*b.N)/engine.Seconds(), "engine-clips/s")
	b.ReportMetric(100*(shard.Seconds()/engine.Seconds()-1), "%forge-over-engine")
	b.ReportMetric(100*(whole.Seconds()/engine.Seconds()-1), "%pipeline-over-engine")
	b.ReportMetric(100*(whole.Seconds()/shard.Seconds()-1), "%pipeline-over-forge")
}

func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// engine speaks everything and keeps nothing.
func (o *overhead) engine(b *testing.B) {
	work := make(chan string)
	var wg sync.WaitGroup
	for range o.jobs {
		wg.Go(func() {
			for text := range work {
				if _, err := o.voices.Speak(context.Background(), tts.Utterance{Text: text, Voice: o.voice, Speed: 1}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, t := range o.texts {
		work <- t
	}
	close(work)
	wg.Wait()
}

// prepare plans the texts into a new folder.
func (o *overhead) prepare(b *testing.B) (datasets.Folder, *manifests.Plan) {
	dir := b.TempDir()
	file := filepath.Join(dir, "corpus.txt")
	if err := os.WriteFile(file, []byte(strings.Join(o.texts, "\n")), 0o644); err != nil {
		b.Fatal(err)
	}
	r, err := corpus.Open(file, corpus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	folder := datasets.At(filepath.Join(dir, "d"))
	if err := folder.Prepare(); err != nil {
		b.Fatal(err)
	}
	p, err := plan.Make(context.Background(), folder, r, plan.Options{
		Speech: true, Mel: &o.mel, Voices: o.voices, Jobs: o.jobs,
		Variety: plan.Variety{Voices: []plan.Choice{{Voice: o.voice.String(), Weight: 1}}, Speed: plan.Range{Low: 1, High: 1}},
		Settings: manifests.Settings{
			Voice: o.voice.String(), Rate: o.mel.Rate, ShardSize: len(o.texts)/2 + 1, MaxChars: tts.MaxChars,
			Gates: gates.Default(),
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := folder.SavePlan(p); err != nil {
		b.Fatal(err)
	}
	return folder, p
}

// forge makes the shards without Beam, two at a time as the pipeline does.
func (o *overhead) forge(b *testing.B) {
	folder, p := o.prepare(b)
	engine, err := mel.NewCPU(o.mel, o.jobs)
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	f := forge.New(o.voices, engine, o.jobs, new(forge.Progress))
	var wg sync.WaitGroup
	for _, s := range p.Shards {
		wg.Go(func() {
			if _, err := f.Make(context.Background(), folder, p, s); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

// pipeline does everything.
func (o *overhead) pipeline(b *testing.B) {
	folder, _ := o.prepare(b)
	proc := transforms.Open(transforms.Host{Voices: o.voices, Engine: func(_ transforms.Engine, c mel.Config, jobs int) (mel.Engine, error) {
		return mel.NewCPU(c, jobs)
	}})
	defer proc.Close()
	sum, err := pipelines.Run(context.Background(), "prism", transforms.Job{Dir: folder.Dir(), Engine: transforms.Engine{Name: "cpu"}, Jobs: o.jobs})
	if err != nil {
		b.Fatal(err)
	}
	if sum.Spoken != int64(len(o.texts)) {
		b.Fatalf("%d clips spoken, want %d", sum.Spoken, len(o.texts))
	}
}
