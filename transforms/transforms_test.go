package transforms

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

func TestMain(m *testing.M) { ptest.MainWithDefault(m, "prism") }

// given plans n wavs that are there already into a new folder.
func given(t *testing.T, n, shardSize int) (Job, *manifests.Plan) {
	t.Helper()
	config, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	folder := datasets.At(t.TempDir())
	if err := folder.Prepare(); err != nil {
		t.Fatal(err)
	}
	p := &manifests.Plan{
		Version: manifests.PlanVersion, Items: datasets.ItemsFile(), Mel: &config,
		Settings: manifests.Settings{Rate: config.Rate, ShardSize: shardSize, Gates: gates.Config{MaxSeconds: 30}},
	}
	var items strings.Builder
	w := manifests.NewWriter(&items)
	for i := range n {
		if i%shardSize == 0 {
			p.Shards = append(p.Shards, manifests.ShardPlan{
				Index: i / shardSize, Name: fmt.Sprintf("%05d-test", i/shardSize), Offset: int64(items.Len()),
			})
		}
		path := filepath.Join(folder.Dir(), fmt.Sprintf("%d.wav", i))
		pcm := audio.PCM{Rate: 16000, Samples: make([]int16, 1600*(i+1))}
		pcm.Samples[i] = 9000
		if err := os.WriteFile(path, audio.AppendWAV(nil, pcm), 0o644); err != nil {
			t.Fatal(err)
		}
		s := &p.Shards[len(p.Shards)-1]
		if err := w.Write(&manifests.Item{
			State: manifests.StateNew, Line: i + 1, ID: fmt.Sprint(i), Key: manifests.NewKey(path), Audio: path, Shard: s.Index,
		}); err != nil {
			t.Fatal(err)
		}
		s.Clips++
		s.Bytes = int64(items.Len()) - s.Offset
	}
	if err := os.WriteFile(folder.Path(p.Items), []byte(items.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := folder.SavePlan(p); err != nil {
		t.Fatal(err)
	}
	proc := Open(Host{Engine: func(_ Engine, c mel.Config, jobs int) (mel.Engine, error) { return mel.NewCPU(c, jobs) }})
	t.Cleanup(func() {
		if err := proc.Close(); err != nil {
			t.Error(err)
		}
	})
	return Job{Dir: folder.Dir(), Engine: Engine{Name: "cpu"}, Jobs: 2}, p
}

func TestMakeShards(t *testing.T) {
	job, p := given(t, 10, 3)
	pipe, s := beam.NewPipelineWithRoot()
	made := MakeShards(s, job, ListShards(s, job))
	passert.Equals(s, made, Made{"00000-test"}, Made{"00001-test"}, Made{"00002-test"}, Made{"00003-test"})
	res := ptest.RunAndValidate(t, pipe)
	want := map[string]int64{
		MetricClips: 10, MetricSpoken: 0, MetricRejects: 0, MetricMillis: 55 * 100,
	}
	got := map[string]int64{}
	for _, c := range res.Metrics().Query(func(m beam.MetricResult) bool { return m.Namespace() == Namespace }).Counters() {
		got[c.Name()] = c.Result()
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("counter %s is %d, want %d", name, got[name], n)
		}
	}
	if process.Progress().Clips != 10 {
		t.Errorf("progress is %+v", process.Progress())
	}
	for _, sp := range p.Shards {
		if _, err := os.Stat(filepath.Join(job.Dir, datasets.ShardFile(sp.Name))); err != nil {
			t.Error(err)
		}
	}
}

func TestWriteIndex(t *testing.T) {
	job, _ := given(t, 5, 2)
	pipe, s := beam.NewPipelineWithRoot()
	totals := WriteIndex(s, job, MakeShards(s, job, ListShards(s, job)))
	passert.Count(s, totals, "totals", 1)
	ptest.RunAndValidate(t, pipe)
	r, err := datasets.At(job.Dir).Verify(datasets.VerifyOptions{ReadData: true})
	if err != nil || len(r.Problems) > 0 || r.Entries != 5 || r.Shards != 3 {
		t.Errorf("verify gives %+v, %v", r, err)
	}
}

func TestIndexWantsEveryShard(t *testing.T) {
	job, _ := given(t, 4, 2)
	f := &indexFn{Job: job}
	one := []Made{{"00000-test"}}
	iter := func(m *Made) bool {
		if len(one) == 0 {
			return false
		}
		*m, one = one[0], one[1:]
		return true
	}
	err := f.ProcessElement(context.Background(), "", iter, func(manifests.Totals) { t.Error("an index was written") })
	if err == nil || !strings.Contains(err.Error(), "planned but not made") {
		t.Errorf("error %v", err)
	}
}

// TestMakeFnStops wants an error to end the bundle, with nothing left at work.
func TestMakeFnStops(t *testing.T) {
	job, p := given(t, 4, 2)
	f := &makeFn{Job: job}
	if err := f.Setup(); err != nil {
		t.Fatal(err)
	}
	f.plan.Items = "gone.jsonl"
	emit := func(Made) { t.Error("something was made") }
	f.StartBundle(context.Background(), emit)
	for _, s := range p.Shards {
		if err := f.ProcessElement(context.Background(), s, emit); err != nil {
			break
		}
	}
	if err := f.FinishBundle(context.Background(), emit); err == nil || !strings.Contains(err.Error(), "gone.jsonl") {
		t.Errorf("error %v", err)
	}
	if f.pending != 0 {
		t.Errorf("%d shards are still in hand", f.pending)
	}
	if process.Err() == nil {
		t.Error("the process does not know the error")
	}
}

func TestSetupWithoutPlan(t *testing.T) {
	f := &makeFn{Job: Job{Dir: t.TempDir()}}
	if err := f.Setup(); err == nil || !strings.Contains(err.Error(), "no plan") {
		t.Errorf("error %v", err)
	}
}
