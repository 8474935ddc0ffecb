package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// follower keeps what it is told, and fails at a shard if asked to.
type follower struct {
	expected int
	plan     manifests.Plan
	shards   []manifests.ShardPlan
	items    []manifests.Item
	fail     int
}

var errFollower = errors.New("no more of this")

func (f *follower) Expect(p manifests.Plan) { f.expected, f.plan = f.expected+1, p }

func (f *follower) Shard(s manifests.ShardPlan, items []manifests.Item) error {
	if f.fail > 0 && len(f.shards) == f.fail {
		return errFollower
	}
	f.shards, f.items = append(f.shards, s), append(f.items, items...)
	return nil
}

// wavLines is n files with their lines. Every fifth has the content of the one
// before, and every seventh is missing.
func wavLines(t *testing.T, n int) []corpus.Line {
	t.Helper()
	dir := t.TempDir()
	out := make([]corpus.Line, n)
	for i := range out {
		out[i] = corpus.Line{Number: i + 1, ID: fmt.Sprint(i), Audio: filepath.Join(dir, fmt.Sprintf("%d.wav", i))}
		content := i
		if i%5 == 4 {
			content--
		}
		if i%7 == 6 {
			continue
		}
		if err := os.WriteFile(out[i].Audio, fmt.Appendf(nil, "wav %d", content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func wavOptions(t *testing.T, size int) Options {
	t.Helper()
	c, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Mel: &c, Jobs: 2, Settings: manifests.Settings{Rate: 16000, ShardSize: size}}
}

// TestFollow wants a follower to be told exactly what the plan says in the end.
func TestFollow(t *testing.T) {
	f := new(follower)
	o := wavOptions(t, 50)
	o.Follow = f
	p, all := items(t, o, wavLines(t, 5*batchLines+3))
	var want []manifests.Item
	for i, it := range all {
		if it.Line != i+1 {
			t.Fatalf("item %d is of line %d", i, it.Line)
		}
		if it.State == manifests.StateNew {
			want = append(want, it)
		}
	}
	if f.expected != 1 || !reflect.DeepEqual(f.plan.Settings, p.Settings) || f.plan.Mel != p.Mel || f.plan.Items != p.Items {
		t.Errorf("expected %d times: %+v", f.expected, f.plan)
	}
	if !reflect.DeepEqual(f.shards, p.Shards) || !reflect.DeepEqual(f.items, want) {
		t.Errorf("%d shards of %d items followed, %d of %d planned", len(f.shards), len(f.items), len(p.Shards), len(want))
	}
	if p.Counts.Shared == 0 || p.Counts.Reject == 0 || p.Counts.New != len(want) {
		t.Errorf("counts are %+v", p.Counts)
	}
}

// watched is a source that notices when it is used after the plan was made.
type watched struct {
	source
	over bool
	late bool
}

func (w *watched) Next() (corpus.Line, error) {
	w.late = w.late || w.over
	return w.source.Next()
}

func TestFollowerEndsThePlan(t *testing.T) {
	folder := datasets.At(t.TempDir())
	if err := folder.Prepare(); err != nil {
		t.Fatal(err)
	}
	o := wavOptions(t, 10)
	o.Follow = &follower{fail: 2}
	src := &watched{source: source{lines: wavLines(t, 12*batchLines)}}
	_, err := Make(context.Background(), folder, src, o)
	src.over = true
	if !errors.Is(err, errFollower) || src.late || src.at == len(src.lines) {
		t.Errorf("%v after %d of %d lines; late: %t", err, src.at, len(src.lines), src.late)
	}
	if left, err := os.ReadDir(folder.Path(".melforge")); err != nil || len(left) != 1 { // results
		t.Errorf("left behind: %v, %v", left, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Make(ctx, folder, &source{lines: wavLines(t, 3)}, wavOptions(t, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled plan gave %v", err)
	}
}
