package transforms

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// itemsOf reads the items of a shard from the plan's file.
func itemsOf(t *testing.T, job Job, p *manifests.Plan, s manifests.ShardPlan) []manifests.Item {
	t.Helper()
	f, err := os.Open(datasets.At(job.Dir).Path(p.Items))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var items []manifests.Item
	for it, err := range manifests.Items(io.NewSectionReader(f, s.Offset, s.Bytes), p.Items) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

// TestAhead makes some shards before the pipeline runs. It makes the others, and
// counts all of them once.
func TestAhead(t *testing.T) {
	job, p := given(t, 10, 3)
	var opened atomic.Int64
	proc := Open(Host{Engine: func(_ Engine, c mel.Config, jobs int) (mel.Engine, error) {
		opened.Add(1)
		return mel.NewCPU(c, jobs)
	}})
	defer proc.Close()
	a := proc.Ahead(context.Background(), job)
	defer a.Stop()
	a.Expect(*p)
	for _, s := range p.Shards[1:3] {
		if err := a.Shard(s, itemsOf(t, job, p, s)); err != nil {
			t.Fatal(err)
		}
	}
	pipe, s := beam.NewPipelineWithRoot()
	totals := WriteIndex(s, job, MakeShards(s, job, ListShards(s, job)))
	passert.Count(s, totals, "totals", 1)
	res := ptest.RunAndValidate(t, pipe)
	got := map[string]int64{}
	for _, c := range res.Metrics().Query(func(m beam.MetricResult) bool { return m.Namespace() == Namespace }).Counters() {
		got[c.Name()] = c.Result()
	}
	if got[MetricClips] != 10 || got[MetricMillis] != 55*100 || proc.Progress().Clips != 10 || opened.Load() != 1 {
		t.Errorf("counters %v, progress %+v, %d engines", got, proc.Progress(), opened.Load())
	}
	if at := proc.Times(); at.Engine.IsZero() || at.Made.Before(at.Engine) || len(proc.begun) != 0 {
		t.Errorf("times %+v, %d shards are still begun", at, len(proc.begun))
	}
	r, err := datasets.At(job.Dir).Verify(datasets.VerifyOptions{ReadData: true})
	if err != nil || len(r.Problems) > 0 || r.Entries != 10 {
		t.Errorf("verify gives %+v, %v", r, err)
	}
}

// TestAheadFails wants the first error of a shard to end the planning and to
// reach whoever waits for the shard.
func TestAheadFails(t *testing.T) {
	for name, c := range map[string]struct {
		engine error
		damage func(job Job) error
		want   string
	}{
		"no engine": {engine: errors.New("no GPU here"), want: "no GPU here"},
		"no folder": {damage: func(job Job) error { return os.RemoveAll(datasets.At(job.Dir).Path("shards")) }, want: "no such file"},
	} {
		job, p := given(t, 4, 2)
		proc := Open(Host{Engine: func(_ Engine, cfg mel.Config, jobs int) (mel.Engine, error) {
			if c.engine != nil {
				return nil, c.engine
			}
			return mel.NewCPU(cfg, jobs)
		}})
		if c.damage != nil {
			if err := c.damage(job); err != nil {
				t.Fatal(err)
			}
		}
		a := proc.Ahead(context.Background(), job)
		a.Expect(*p)
		if err := a.Shard(p.Shards[0], itemsOf(t, job, p, p.Shards[0])); err != nil {
			t.Errorf("%s: the first shard was refused: %v", name, err)
		}
		_, err := proc.make(context.Background(), nil, datasets.At(job.Dir), p, p.Shards[0])
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: who waits gets %v", name, err)
		}
		<-a.ctx.Done()
		if err := a.Shard(p.Shards[1], nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the next shard gives %v", name, err)
		}
		a.Stop()
		if err := proc.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAheadStops(t *testing.T) {
	job, p := given(t, 4, 2)
	release := make(chan struct{})
	proc := Open(Host{Engine: func(_ Engine, c mel.Config, jobs int) (mel.Engine, error) {
		<-release
		return mel.NewCPU(c, jobs)
	}})
	a := proc.Ahead(context.Background(), job)
	a.Expect(*p)
	if err := a.Shard(p.Shards[0], itemsOf(t, job, p, p.Shards[0])); err != nil {
		t.Fatal(err)
	}
	a.Stop() // does not wait for the engine
	if err := a.Shard(p.Shards[1], nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a shard after the end gives %v", err)
	}
	close(release)
	if err := proc.Close(); err != nil {
		t.Error(err)
	}
}
