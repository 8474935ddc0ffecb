package transforms

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/manifests"
)

func init() {
	beam.RegisterType(reflect.TypeFor[manifests.Totals]())
	beam.RegisterDoFn(reflect.TypeFor[*gatherFn]())
	beam.RegisterDoFn(reflect.TypeFor[*indexFn]())
	beam.RegisterDoFn(reflect.TypeFor[*dropFn]())
}

// WriteIndex commits the dataset once every shard is made.
//
//	PCollection<Made> → PCollection<manifests.Totals> with one element
//
// It runs even where nothing had to be made: lines that were removed leave the
// manifest too.
func WriteIndex(s beam.Scope, job Job, made beam.PCollection) beam.PCollection {
	s = s.Scope("transforms.WriteIndex")
	start := beam.Create(s, Made{})
	all := beam.ParDo(s, &gatherFn{}, beam.Flatten(s, made, start))
	return beam.ParDo(s, &indexFn{Job: job}, beam.GroupByKey(s, all))
}

// gatherFn puts everything under one key.
type gatherFn struct{}

// ProcessElement keys an element.
func (*gatherFn) ProcessElement(m Made) (string, Made) { return "dataset", m }

// indexFn writes the index from the results of all shards.
type indexFn struct{ Job Job }

// ProcessElement gets every shard that was made. A runner may deliver one
// twice; the plan says which there must be.
func (f *indexFn) ProcessElement(ctx context.Context, _ string, made func(*Made) bool, emit func(manifests.Totals)) error {
	err := f.index(ctx, made, emit)
	if err != nil {
		process.fail(err)
	}
	return err
}

func (f *indexFn) index(ctx context.Context, made func(*Made) bool, emit func(manifests.Totals)) error {
	folder := datasets.At(f.Job.Dir)
	plan, err := folder.LoadPlan()
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for m := (Made{}); made(&m); {
		names[m.Name] = true
	}
	for _, s := range plan.Shards {
		if !names[s.Name] {
			return fmt.Errorf("shard %s was planned but not made", s.Name)
		}
	}
	process.note(func(t *Times) *time.Time { return &t.Made })
	start := time.Now()
	defer func() { timeline.Add("index", "write", f.Job.Dir, start) }()
	results := make([]manifests.Result, len(plan.Shards))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range plan.Shards {
		g.Go(func() (err error) {
			if err := within.Err(); err != nil {
				return err
			}
			results[i], err = forge.ReadResult(folder, s.Name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	d, err := folder.Index(plan, results)
	if err != nil {
		return err
	}
	emit(d.Totals)
	return nil
}

// Drop takes the totals of an index and makes nothing of them: a pipeline has to
// end somewhere.
//
//	PCollection<manifests.Totals> →
func Drop(s beam.Scope, totals beam.PCollection) {
	s = s.Scope("transforms.Drop")
	beam.ParDo0(s, &dropFn{}, totals)
}

type dropFn struct{}

// ProcessElement forgets an element.
func (*dropFn) ProcessElement(manifests.Totals) {}
