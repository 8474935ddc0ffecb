package loop

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

func TestLearns(t *testing.T) {
	o := options(backend(t), "")
	o.Steps = 40
	got := losses(t, o, false)
	if len(got) != 40 || got[40] > got[1]/3 {
		t.Errorf("loss went from %v to %v in %d steps", got[1], got[40], len(got))
	}
}

// slowly is a source whose batches took a while to the device.
type slowly struct{ Source }

func (s slowly) Next(ctx context.Context) (*Batch, error) {
	b, err := s.Source.Next(ctx)
	if b != nil {
		b.HandOver = time.Second
	}
	return b, err
}

// TestParts wants a step to say where its time went, and the summary to add that
// up.
func TestParts(t *testing.T) {
	o := options(backend(t), "")
	o.Source, o.Accumulate = slowly{o.Source}, 2
	var sum Summary
	var slowest float64
	o.OnStep = func(s Step) {
		if s.Device <= 0 || s.Device > s.Work || s.HandOver != 2 || (s.Compile > 0) != (s.Step == 1) {
			t.Errorf("step %d: %+v", s.Step, s)
		}
		sum.Device += s.Device
		sum.HandOver += s.HandOver
		slowest = max(slowest, s.Wait+s.Work)
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Run(t.Context())
	if err != nil || got.Device != sum.Device || got.HandOver != sum.HandOver || got.Median <= 0 || got.Median > slowest {
		t.Errorf("summary %+v, error %v; want %+v", got, err, sum)
	}
	for _, c := range []struct {
		times []float64
		want  float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{100, 2, 1}, 2}} {
		if m := median(c.times); m != c.want {
			t.Errorf("the median of %v is %g, want %g", c.times, m, c.want)
		}
	}
}

func TestInlineIsTheSame(t *testing.T) {
	b := backend(t)
	inline := options(b, "")
	inline.Inline = true
	if got, want := losses(t, inline, false), losses(t, options(b, ""), false); !maps.Equal(got, want) {
		t.Errorf("losses %v, one batch ahead %v", got, want)
	}
}

// TestAccumulation wants micro-batches to be the large batch: the same sums,
// divided once, though each of them counts another number of rows.
func TestAccumulation(t *testing.T) {
	b := backend(t)
	whole := options(b, "")
	whole.Model, whole.Source = toy{}, &draws{batch: 24}
	parts := options(b, "")
	parts.Model, parts.Source, parts.Accumulate = toy{}, &draws{batch: 6}, 4
	want, got := losses(t, whole, false), losses(t, parts, false)
	for step := 1; step <= whole.Steps; step++ {
		if d := math.Abs(got[step] - want[step]); d > 1e-5*want[step] {
			t.Errorf("step %d: loss %v, with the whole batch %v", step, got[step], want[step])
		}
	}
	w := func(o Options) []float32 {
		return tensors.MustCopyFlatData[float32](o.Store.GetVariable("/toy/weight").MustValue())
	}
	for i, x := range w(whole) {
		if d := math.Abs(float64(x - w(parts)[i])); d > 1e-5 {
			t.Errorf("weight %d is %v, with the whole batch %v", i, w(parts)[i], x)
		}
	}
}

func TestResume(t *testing.T) {
	b := backend(t)
	want := losses(t, options(b, ""), false)
	dir := t.TempDir()
	first := options(b, dir)
	first.Steps = 11 // the end is saved too, between two that are due
	losses(t, first, false)
	second := options(b, dir)
	got := losses(t, second, true)
	if one, other := paths(first.Store), paths(second.Store); !slices.Equal(one, other) {
		t.Errorf("the variables are %q, and were %q", other, one)
	}
	if len(got) != 9 {
		t.Fatalf("%d steps after the checkpoint of step 11, want 9", len(got))
	}
	for step, loss := range got {
		if loss != want[step] {
			t.Errorf("step %d: loss %v, undisturbed %v", step, loss, want[step])
		}
	}
	steps, err := readSteps(filepath.Join(dir, stepsName), 100)
	if err != nil || len(steps) != 20 || steps[19].Step != 20 || steps[10].Loss != want[11] {
		t.Errorf("the journal has %d steps, error %v", len(steps), err)
	}
}

// paths are the variables of a store in their order.
func paths(s *model.Store) (all []string) {
	for v := range s.IterVariables() {
		all = append(all, v.Path())
	}
	return all
}

func TestInterrupted(t *testing.T) {
	b := backend(t)
	want := losses(t, options(b, ""), false)
	dir := t.TempDir()
	o := options(b, dir)
	ctx, cancel := context.WithCancel(t.Context())
	o.OnStep = func(s Step) {
		if s.Step == 6 {
			cancel()
		}
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Run(ctx)
	if !errors.Is(err, ErrInterrupted) || s.Last != 6 || filepath.Base(s.Checkpoint) != "step-00000006.safetensors" {
		t.Fatalf("error %v, last step %d, checkpoint %s", err, s.Last, s.Checkpoint)
	}
	for step, loss := range losses(t, options(b, dir), true) {
		if step <= 6 || loss != want[step] {
			t.Errorf("step %d: loss %v, undisturbed %v", step, loss, want[step])
		}
	}
}

func TestKeepsNewestAndBest(t *testing.T) {
	dir := t.TempDir()
	o := options(backend(t), dir)
	o.EvaluateEvery = 4
	values := []float64{5, 1, 3, 4, 2}
	o.Evaluate = func(context.Context) (string, float64, any, error) {
		v := values[0]
		values = values[1:]
		return "error", v, nil, nil
	}
	var best []int
	o.OnEvaluation = func(e Evaluation) {
		if e.Best {
			best = append(best, e.Step)
		}
	}
	losses(t, o, false)
	if !slices.Equal(best, []int{4, 8}) {
		t.Errorf("best at steps %v, want 4 and 8", best)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	want := []string{"checkpoints.json", "step-00000008.safetensors", "step-00000016.safetensors", "step-00000020.safetensors", "steps.jsonl"}
	if !slices.Equal(found, want) {
		t.Errorf("the folder holds %q, want %q", found, want)
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := l.RestoreBest(); !ok || err != nil {
		t.Errorf("best not restored: %v", err)
	}
	if _, err := l.Resume(); err != nil || len(l.Evaluations()) != 5 || l.Evaluations()[1].Value != 1 {
		t.Errorf("evaluations %v, error %v", l.Evaluations(), err)
	}
}

func TestEarlyStopping(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		change func(*Options)
		want   int
	}{
		{"patience", []float64{3, 2, 2, 2.5, 1}, func(o *Options) { o.Patience = 2 }, 8},
		{"target", []float64{3, 2, 0.5, 2.5, 1}, func(o *Options) { v := 0.5; o.Target = &v }, 6},
		{"neither", []float64{3, 2, 2, 2.5, 1, 1, 1, 1, 1, 1}, func(*Options) {}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(backend(t), "")
			o.EvaluateEvery = 2
			o.Evaluate = func(context.Context) (string, float64, any, error) {
				v := c.values[0]
				c.values = c.values[1:]
				return "error", v, nil, nil
			}
			c.change(&o)
			if got := losses(t, o, false); len(got) != c.want {
				t.Errorf("%d steps, want %d", len(got), c.want)
			}
		})
	}
}

func TestRefusesAnotherModel(t *testing.T) {
	b := backend(t)
	dir := t.TempDir()
	losses(t, options(b, dir), false)
	other := options(b, dir)
	other.Fingerprint = "toy of 6"
	l, err := New(other)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Resume()
	var wrong *OtherModel
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "toy of 6") {
		t.Errorf("error %v", err)
	}
	if other.Store.NumVariables() != 0 {
		t.Error("variables of the other model were taken over")
	}
	empty, err := New(options(b, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var none *NoCheckpoint
	if _, err := empty.Resume(); !errors.As(err, &none) {
		t.Errorf("error %v, want that there is no checkpoint", err)
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	b := backend(t)
	dir := t.TempDir()
	losses(t, options(b, dir), false)
	path := filepath.Join(dir, "step-00000020.safetensors")
	if err := os.Truncate(path, 300); err != nil {
		t.Fatal(err)
	}
	l, err := New(options(b, dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resume(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names %s", err, path)
	}
}

func TestNoNumber(t *testing.T) {
	o := options(backend(t), "")
	o.Optimizer.Schedule.Rate, o.Optimizer.Clip = 1e30, 0
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "learning rate") {
		t.Errorf("error %v, want advice on the learning rate", err)
	}
}

func TestProbe(t *testing.T) {
	for _, accumulate := range []bool{false, true} {
		for _, run := range []bool{false, true} {
			o := options(backend(t), "")
			b, err := o.Source.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			m := counting{Model: o.Model, graphs: new(int)}
			err = Probe(o.Backend, o.Store, m, o.Optimizer, b, accumulate, func(graphs []compute.Executable) bool {
				seen = len(graphs)
				return run
			})
			want := 1
			if accumulate {
				want = 2
			}
			if err != nil || seen != want || *m.graphs != want {
				t.Errorf("accumulate %v, run %v: %d graphs shown, %d built, error %v; want %d", accumulate, run, seen, *m.graphs, err, want)
			}
		}
	}
}

// counting counts the graphs that a model is built into.
type counting struct {
	Model
	graphs *int
}

func (c counting) Loss(scope *model.Scope, inputs []*graph.Node) (sum, count *graph.Node) {
	*c.graphs++
	return c.Model.Loss(scope, inputs)
}

func TestOutOfMemory(t *testing.T) {
	for text, want := range map[string]bool{
		"RESOURCE_EXHAUSTED: Out of memory while trying to allocate 51539607552 bytes": true,
		"CUDA_ERROR_OUT_OF_MEMORY": true,
		"no such file":             false,
	} {
		if got := OutOfMemory(errors.New(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if OutOfMemory(nil) {
		t.Error("nothing is out of memory")
	}
}
