package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
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
// times over; the medians of the ratios count:
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
	benchmarkOverhead(b, tts.Options{Worker: worker, CacheDir: b.TempDir()}, "piper/jenny", 60)
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
	var clips, forge, pipeline, beam, cpu, alone, busy, voices, own []float64
	for b.Loop() {
		// The engine before and after: the same run of it takes up to a fifth
		// longer a minute later where machines are shared.
		engine := measured(b, func() { o.engine(b) })
		var speech float64
		whole := measured(b, func() { speech = o.pipeline(b) })
		shard := measured(b, func() { o.forge(b) })
		engine = engine.mean(measured(b, func() { o.engine(b) }))
		alone = append(alone, 100*engine.cpu/engine.wall/float64(o.jobs))
		busy = append(busy, 100*whole.cpu/whole.wall/float64(o.jobs))
		voices = append(voices, 100*speech/whole.wall/float64(o.jobs))
		own = append(own, 100*(whole.own-engine.own)/whole.wall/float64(o.jobs))
		clips = append(clips, float64(n)/engine.wall)
		forge = append(forge, 100*(shard.wall/engine.wall-1))
		pipeline = append(pipeline, 100*(whole.wall/engine.wall-1))
		beam = append(beam, 100*(whole.wall/shard.wall-1))
		cpu = append(cpu, 100*(whole.cpu/engine.cpu-1))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(clips), "engine-clips/s")
	b.ReportMetric(median(forge), "%forge-over-engine")
	b.ReportMetric(median(pipeline), "%pipeline-over-engine")
	b.ReportMetric(median(beam), "%pipeline-over-forge")
	b.ReportMetric(median(cpu), "%pipeline-over-engine-CPU")
	// Whether every core works from the first clip to the last: the voices
	// alone, everything, and the part of the time in which all voices speak.
	b.ReportMetric(median(alone), "%cores-busy-engine")
	b.ReportMetric(median(busy), "%cores-busy-pipeline")
	b.ReportMetric(median(voices), "%voices-busy-pipeline")
	// What the machine's noise cannot touch: a voice is idle for some of the
	// time, and for some this process takes its core. More cannot be lost.
	b.ReportMetric(median(own), "%cores-ours-pipeline")
	b.ReportMetric(100-median(voices)+median(own), "%lost-at-most")
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// cost is time on the clock and on the processors, in seconds. Where all cores
// are busy the second says the same as the first, and neighbours on the same
// machine disturb it less.
type cost struct {
	wall, cpu float64
	own       float64 // CPU of this process alone, without the voices'
}

func (c cost) mean(d cost) cost {
	return cost{(c.wall + d.wall) / 2, (c.cpu + d.cpu) / 2, (c.own + d.own) / 2}
}

func measured(b *testing.B, f func()) cost {
	start, used, own := time.Now(), cpuSeconds(b), usage(b, syscall.RUSAGE_SELF)
	f()
	return cost{time.Since(start).Seconds(), cpuSeconds(b) - used, usage(b, syscall.RUSAGE_SELF) - own}
}

// usage is the CPU time of this process, or of its children that ended.
func usage(b *testing.B, who int) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// cpuSeconds is what this process and its children have used so far, the
// children that ended included.
func cpuSeconds(b *testing.B) float64 {
	sum := usage(b, syscall.RUSAGE_SELF) + usage(b, syscall.RUSAGE_CHILDREN)
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range lists {
		pids, _ := os.ReadFile(l) // a thread may have ended
		for _, pid := range strings.Fields(string(pids)) {
			stat, _ := os.ReadFile("/proc/" + pid + "/stat") // and so may a child
			var user, system float64
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if len(fields) > 12 {
				fmt.Sscan(fields[11], &user)
				fmt.Sscan(fields[12], &system)
			}
			sum += (user + system) / clockTicks
		}
	}
	return sum
}

// clockTicks is how many /proc counts in a second, on every Linux there is.
const clockTicks = 100

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

// pipeline does everything and returns the seconds that voices spoke.
func (o *overhead) pipeline(b *testing.B) float64 {
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
	return sum.Cost.Speech
}
