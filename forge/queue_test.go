package forge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
	"github.com/melforge/melforge/tts"
)

// TestQueueBounds wants no more clips in hand than there are places, of however
// many shards, and those of all but a few shards to have begun before those of
// the next.
func TestQueueBounds(t *testing.T) {
	const clips, all = 200, 7
	for _, c := range []struct {
		jobs, files int
		weight      int64
	}{{2, 1, 1}, {2, 1, 2}, {4, 2, 1}, {16, 4, 2}} {
		jobs, weight := c.jobs, c.weight
		q := newQueue(jobs, false)
		var inHand, most, total atomic.Int64
		var mu sync.Mutex
		begun := map[int]int{}
		var wg sync.WaitGroup
		for shard := range all {
			wg.Go(func() {
				err := q.each(context.Background(), clips, weight, func(_ context.Context, i int) error {
					now := inHand.Add(weight)
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
					}
					mu.Lock()
					begun[shard]++
					open := 0
					for _, n := range begun {
						// What is in hand was let in, though it may not have come as far as here.
						if n < clips-overlap*jobs {
							open++
						}
					}
					if open > c.files {
						t.Errorf("%d jobs: the clips of %d shards begin by turns: %v", jobs, open, begun)
					}
					mu.Unlock()
					total.Add(1)
					inHand.Add(-weight)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most.Load() > int64(overlap*jobs) || total.Load() != all*clips {
			t.Errorf("weight %d: %d places were in use of %d; %d clips", weight, most.Load(), overlap*jobs, total.Load())
		}
	}
}

func TestQueueStops(t *testing.T) {
	q := newQueue(1, true)
	boom := errors.New("boom")
	n := 0
	err := q.each(context.Background(), 1000, 8, func(_ context.Context, i int) error {
		defer q.turn()()
		n++
		if i == 5 {
			return boom
		}
		return nil
	})
	if !errors.Is(err, boom) || n == 1000 {
		t.Errorf("%v after %d clips", err, n)
	}
	err = q.each(context.Background(), 1, 1, func(context.Context, int) error { panic("oh no") })
	if err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a panic gave %v", err)
	}
	// Nothing is left taken.
	if err := q.each(context.Background(), 1, q.places, func(context.Context, int) error { return nil }); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var leave []func()
	for range 2 {
		l, err := q.enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	cancel()
	if _, err := q.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a third shard entered: %v", err)
	}
	if err := q.each(ctx, 1, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled queue gave %v", err)
	}
	leave[0]()
	leave[0]() // only once
	if _, err := q.enter(context.Background()); err != nil {
		t.Error(err)
	}
	if q.shards.TryAcquire(1) {
		t.Error("leaving twice made room for two")
	}
}

// TestMakeItems makes the same shard without a file of items.
func TestMakeItems(t *testing.T) {
	b := newBench(t, 4)
	items, err := readItems(b.folder, b.plan, b.plan.Shards[0])
	if err != nil {
		t.Fatal(err)
	}
	want := b.make(t)
	for _, name := range []string{b.plan.Items, want.Shard.File, ".melforge/results/00000-x.json"} {
		if err := os.Remove(b.folder.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.forge.MakeItems(context.Background(), b.folder, b.plan, b.plan.Shards[0], items)
	if err != nil || *got.Shard != *want.Shard || fmt.Sprint(got.Made) != fmt.Sprint(want.Made) {
		t.Errorf("made %+v, %v; want %+v", got, err, want)
	}
	if err := shards.Check(b.folder.Path(want.Shard.File), *want.Shard); err != nil {
		t.Error(err)
	}
}

// device is an engine with little room, as a GPU's ring is: whoever reserves
// waits until others have released.
type device struct {
	mel.Engine
	rooms chan struct{}
}

func (d *device) Name() string { return "cuda" }

func (d *device) Clip(ctx context.Context, n int) (mel.Clip, error) {
	select {
	case d.rooms <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := d.Engine.Clip(ctx, n)
	return &deviceClip{c, sync.OnceFunc(func() { <-d.rooms })}, err
}

type deviceClip struct {
	mel.Clip
	leave func()
}

func (c *deviceClip) Release() {
	c.Clip.Release()
	c.leave()
}

// TestDevice wants more clips in hand than a device has room for, and than there
// are cores to read them, not to wait for each other for ever; and the same bytes.
func TestDevice(t *testing.T) {
	b := newBench(t, 40)
	want := b.make(t)
	for _, name := range []string{want.Shard.File, ".melforge/results/00000-x.json"} {
		if err := os.Remove(b.folder.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	d := &device{Engine: b.forge.engine, rooms: make(chan struct{}, 3)}
	b.forge = New(tts.Open(tts.Options{}), d, 1, new(Progress))
	if b.forge.queue.turns == nil || b.forge.queue.places != elsewhere {
		t.Fatalf("the queue is %+v", b.forge.queue)
	}
	got := b.make(t)
	if got.Shard.Engine = "cpu"; *got.Shard != *want.Shard {
		t.Errorf("made %+v, want %+v", got.Shard, want.Shard)
	}
}
