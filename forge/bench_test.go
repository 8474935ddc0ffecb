package forge

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/plan"
	"github.com/melforge/melforge/shards"
	"github.com/melforge/melforge/tts"
)

// warm is what the benchmark below goes through: wavs of 1 to 9 s in the page
// cache, their samples, and their mels.
type warm struct {
	dir     string
	config  mel.Config
	engine  mel.Engine
	gates   gates.Config
	jobs    int
	paths   []string
	clips   []audio.PCM
	mels    []mel.Mel
	samples int
}

const (
	warmClips     = 2400
	warmShardSize = 512
)

func newWarm(b *testing.B) *warm {
	w := &warm{dir: b.TempDir(), jobs: runtime.GOMAXPROCS(0), gates: givenGates()}
	var err error
	if w.config, err = mel.Preset("whisper-80"); err != nil {
		b.Fatal(err)
	}
	if w.engine, err = mel.NewCPU(w.config, w.jobs); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.engine.Close() })
	r := rand.New(rand.NewPCG(3, 5))
	for i := range warmClips {
		p := audio.PCM{Rate: w.config.Rate, Samples: make([]int16, w.config.Rate+r.IntN(8*w.config.Rate))}
		for j := range p.Samples { // noise that swells and fades like syllables do
			p.Samples[j] = int16(6000 * r.NormFloat64() * math.Pow(math.Sin(float64(j)/3000), 2) / 4)
		}
		path := filepath.Join(w.dir, fmt.Sprintf("%05d.wav", i))
		if err := os.WriteFile(path, audio.AppendWAV(nil, p), 0o644); err != nil {
			b.Fatal(err)
		}
		w.paths, w.clips, w.samples = append(w.paths, path), append(w.clips, p), w.samples+len(p.Samples)
	}
	w.mels = make([]mel.Mel, warmClips)
	w.each(b, func(i int) error {
		return w.mel(i, func(m mel.Mel) error {
			m.Frames = slices.Clone(m.Frames)
			w.mels[i] = m
			return nil
		})
	})
	return w
}

// givenGates are those of "melforge mel".
func givenGates() gates.Config {
	d := gates.Default()
	return gates.Config{MinSeconds: d.MinSeconds, MaxSeconds: d.MaxSeconds, MinPeak: d.MinPeak, MaxClipped: d.MaxClipped}
}

// each runs work for every clip, on as many goroutines as there are jobs.
func (w *warm) each(b *testing.B, work func(i int) error) {
	b.Helper()
	if err := group(context.Background(), warmClips, w.jobs, func(_ context.Context, i int) error { return work(i) }); err != nil {
		b.Fatal(err)
	}
}

// mel computes a clip and lets its mel be used.
func (w *warm) mel(i int, use func(mel.Mel) error) error {
	place, err := w.engine.Clip(context.Background(), len(w.clips[i].Samples))
	if err != nil {
		return err
	}
	defer place.Release()
	copy(place.Samples(), w.clips[i].Samples)
	m, err := place.Compute(context.Background())
	if err != nil {
		return err
	}
	return use(m)
}

// write writes the mels into shards, two at a time as a pipeline does.
func (w *warm) write(b *testing.B, dir string) {
	var g errgroup.Group
	g.SetLimit(2)
	for from := 0; from < warmClips; from += warmShardSize {
		part := w.mels[from:min(from+warmShardSize, warmClips)]
		g.Go(func() error {
			keys, frames := make([]string, len(part)), make([]int, len(part))
			for i, m := range part {
				keys[i], frames[i] = manifests.NewKey(fmt.Sprint(from+i)).String(), m.N
			}
			s, err := shards.Create(filepath.Join(dir, fmt.Sprintf("%d.h5", from)), w.config, keys, frames)
			if err != nil {
				return err
			}
			err = group(context.Background(), len(part), w.jobs, func(_ context.Context, i int) error { return s.Put(i, part[i]) })
			if err != nil {
				return err
			}
			_, err = s.Commit()
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// plan plans the wavs into a new dataset.
func (w *warm) plan(b *testing.B, folder datasets.Folder) *manifests.Plan {
	if err := folder.Prepare(); err != nil {
		b.Fatal(err)
	}
	src, err := corpus.Open(w.dir, corpus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	p, err := plan.Make(context.Background(), folder, src, plan.Options{
		Mel: &w.config, Jobs: w.jobs,
		Settings: manifests.Settings{Rate: w.config.Rate, ShardSize: warmShardSize, Gates: w.gates},
	})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// forge makes the planned shards, two at a time, and the index.
func (w *warm) forge(b *testing.B, folder datasets.Folder, p *manifests.Plan) {
	f := New(tts.Open(tts.Options{}), w.engine, w.jobs, new(Progress))
	results := make([]manifests.Result, len(p.Shards))
	var g errgroup.Group
	g.SetLimit(2)
	for i, s := range p.Shards {
		g.Go(func() (err error) {
			results[i], err = f.Make(context.Background(), folder, p, s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	d, err := folder.Index(p, results)
	if err != nil || d.Totals.Entries != warmClips {
		b.Fatalf("%d entries, %v", d.Totals.Entries, err)
	}
}

// read reads all wavs and does nothing with them.
func (w *warm) read(i int) error {
	f, err := audio.OpenWAV(w.paths[i])
	if err != nil {
		return err
	}
	defer f.Close()
	place, err := w.engine.Clip(context.Background(), f.Samples())
	if err != nil {
		return err
	}
	defer place.Release()
	return f.ReadInto(place.Samples())
}

// BenchmarkMel holds "melforge mel" on warm wavs to the slower of what it
// cannot do without: computing the mels, and writing them. All parts are
// measured in every round; the medians count. The
// whole tool is measured too, as a process of its own with Beam and all, and
// once more when there is nothing left to do.
func BenchmarkMel(b *testing.B) {
	w := newWarm(b)
	tool := filepath.Join(b.TempDir(), "melforge")
	if out, err := exec.Command("go", "build", "-tags", "osusergo", "-o", tool, "../cmd/melforge").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	r := rounds{}
	for b.Loop() {
		dir := b.TempDir()
		folder := datasets.At(filepath.Join(dir, "d"))
		var p *manifests.Plan
		r.time(b, "read", func() { w.each(b, w.read) })
		r.time(b, "gates", func() { w.each(b, func(i int) error { _, _, _ = w.gates.Apply(w.clips[i], ""); return nil }) })
		r.time(b, "engine", func() {
			w.each(b, func(i int) error { return w.mel(i, func(mel.Mel) error { return nil }) })
		})
		r.time(b, "writer", func() { w.write(b, dir) })
		r.time(b, "plan", func() { p = w.plan(b, folder) })
		r.time(b, "forge", func() { w.forge(b, folder, p) })
		for _, name := range []string{"tool", "again"} { // the second time nothing is new
			r.time(b, name, func() {
				out, err := exec.Command(tool, "mel", w.dir, "--out", filepath.Join(dir, "t"), "--engine", "cpu").CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			})
		}
		r.compare()
		if err := os.RemoveAll(dir); err != nil { // or the disk has old shards to write
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, t := range r {
		slices.Sort(t)
		b.ReportMetric(t[len(t)/2], name)
	}
	b.ReportMetric(float64(w.samples)/float64(w.config.Rate), "audio-s")
}

// rounds are the figures of all rounds, by name: seconds by the clock, and with
// "-CPU" behind the name those of the processors, which neighbours on the same
// machine disturb less.
type rounds map[string][]float64

func (r rounds) add(name string, v float64) { r[name] = append(r[name], v) }

// last is the figure of this round.
func (r rounds) last(name string) float64 { return r[name][len(r[name])-1] }

func (r rounds) time(b *testing.B, name string, f func()) {
	start, used := time.Now(), cpuSeconds(b)
	f()
	r.add(name, time.Since(start).Seconds())
	r.add(name+"-CPU", cpuSeconds(b)-used)
}

// compare holds what a run takes to the slower of the engine and the writer, and
// beside it what it cannot be below where all cores are busy: the work of the
// processors that reading, computing and writing take, shared by the cores.
func (r rounds) compare() {
	slower := max(r.last("engine"), r.last("writer"))
	for _, name := range []string{"forge", "tool"} {
		r.add(name+"/slower", r.last(name)/slower)
		r.add(name+"/engine-CPU", r.last(name+"-CPU")/r.last("engine-CPU"))
	}
	r.add("plan+forge/slower", (r.last("plan")+r.last("forge"))/slower)
	r.add("floor/engine-CPU", (r.last("read-CPU")+r.last("engine-CPU")+r.last("writer-CPU"))/r.last("engine-CPU"))
}

// cpuSeconds is what this process and its children that ended have used.
func cpuSeconds(b *testing.B) float64 {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum.Seconds()
}
