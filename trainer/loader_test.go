package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
)

// seen is a batch as a test remembers it.
type seen struct {
	epoch, step, width int
	ids                []string
	values             []uint16
}

// keepBatch copies a batch and releases it.
func keepBatch(b *Batch) seen {
	s := seen{epoch: b.Epoch, step: b.Step, width: b.Width, values: slices.Clone(b.Half)}
	for k := range b.Len() {
		s.ids = append(s.ids, b.Clip(k).ID)
	}
	b.Release()
	return s
}

// epoch takes all batches up to the end of the epoch.
func epoch(t testing.TB, l *Loader) (all []seen) {
	t.Helper()
	for {
		b, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return all
		}
		check(t, err)
		all = append(all, keepBatch(b))
	}
}

func loader(t testing.TB, d *Dataset, o LoaderOptions) *Loader {
	t.Helper()
	o.Half = true
	l, err := NewLoader(d, o)
	check(t, err)
	t.Cleanup(l.Close)
	return l
}

func idsOf(batches []seen) (ids []string) {
	for _, b := range batches {
		ids = append(ids, b.ids...)
	}
	return ids
}

func allIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("clip-%d", i)
	}
	slices.Sort(ids)
	return ids
}

func TestEveryClipOnceAnEpoch(t *testing.T) {
	for _, n := range []int{1, 3, 8, 23, 24, 25} {
		d := fresh(t, lengths(n, 20)...).open(Options{})
		for _, world := range []int{1, 2, 3, 5} {
			for _, batch := range []int{1, 3, 4, 30} {
				for _, buckets := range []int{0, 2} {
					holdOnce(t, d, LoaderOptions{Batch: batch, World: world, Buckets: buckets, Seed: 9})
				}
			}
		}
	}
}

// holdOnce fails unless the ranks together read every clip once in each of two
// epochs, and the same batches whatever the number of workers and the memory.
func holdOnce(t *testing.T, d *Dataset, o LoaderOptions) {
	t.Helper()
	var both [2][]string
	for rank := range o.World {
		o := o
		o.Rank, o.Workers = rank, 1
		first := loader(t, d, o)
		var epochs [2][]seen
		for e := range epochs {
			epochs[e] = epoch(t, first)
			both[e] = append(both[e], idsOf(epochs[e])...)
			if len(epochs[e]) != first.Steps() {
				t.Errorf("%+v: %d steps, but Steps is %d", o, len(epochs[e]), first.Steps())
			}
		}
		for _, other := range []struct{ workers, prefetch int }{{2, 1}, {3, 100_000}, {7, 0}} {
			o.Workers, o.Prefetch = other.workers, other.prefetch
			l := loader(t, d, o)
			for e := range epochs {
				if got := epoch(t, l); !reflect.DeepEqual(got, epochs[e]) {
					t.Errorf("%+v, epoch %d: not the batches of one worker", o, e)
				}
			}
		}
	}
	for e, ids := range both {
		slices.Sort(ids)
		if want := allIDs(d.Len()); !slices.Equal(ids, want) {
			t.Errorf("%+v, epoch %d: clips %v, want %v", o, e, ids, want)
		}
	}
}

func TestDropLast(t *testing.T) {
	d := fresh(t, lengths(23, 9)...).open(Options{})
	var ids []string
	for rank := range 2 {
		l := loader(t, d, LoaderOptions{Batch: 3, World: 2, Rank: rank, DropLast: true})
		batches := epoch(t, l)
		if len(batches) != 3 || l.Steps() != 3 {
			t.Errorf("rank %d has %d steps, Steps %d, want 3", rank, len(batches), l.Steps())
		}
		ids = append(ids, idsOf(batches)...)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 18 {
		t.Errorf("%d different clips, want 18", len(ids))
	}
}

func TestBatchesAreTheClips(t *testing.T) {
	f := fresh(t, lengths(13, 40)...)
	d := f.open(Options{})
	for _, o := range []LoaderOptions{{}, {Frames: 50}, {Multiple: 16}} {
		o.Batch, o.Sequential = 4, true
		for step, b := range epoch(t, loader(t, d, o)) {
			width := o.Frames
			for k := range b.ids {
				if o.Frames == 0 {
					width = max(width, f.mels[4*step+k].N)
				}
			}
			if o.Multiple > 0 {
				width = (width + 15) / 16 * 16
			}
			if b.width != width || b.step != step {
				t.Fatalf("step %d: step %d of width %d, want %d", step, b.step, b.width, width)
			}
			for k, id := range b.ids {
				if got := b.values[k*80*width:][:80*width]; id != f.items[4*step+k].ID || !slices.Equal(got, f.mels[4*step+k].Padded(nil, width)) {
					t.Errorf("step %d: %s is not clip %d", step, id, 4*step+k)
				}
			}
		}
	}
}

func TestFloatBatchesAreTheHalves(t *testing.T) {
	d := fresh(t, lengths(9, 40)...).open(Options{})
	a := DefaultSpecAugment()
	o := LoaderOptions{Batch: 4, Augment: &a}
	halves := epoch(t, loader(t, d, o))
	l, err := NewLoader(d, o)
	check(t, err)
	defer l.Close()
	for _, want := range halves {
		b, err := l.Next(context.Background())
		check(t, err)
		if b.Half != nil || len(b.Float) != len(want.values) || len(b.Pads) != b.Len() {
			t.Fatalf("%d halves, %d floats, %d pads", len(b.Half), len(b.Float), len(b.Pads))
		}
		for i, h := range want.values {
			if b.Float[i] != widen(h) {
				t.Fatalf("value %d is %v, want %v", i, b.Float[i], widen(h))
			}
		}
		b.Release()
	}
}

func TestSpecAugmentIsDrawnByEpochAndClip(t *testing.T) {
	d := fresh(t, lengths(12, 60)...).open(Options{})
	a := DefaultSpecAugment()
	byClip := func(o LoaderOptions, e int) map[string][]uint16 {
		o.Augment, o.Frames = &a, 60
		l := loader(t, d, o)
		var batches []seen
		for range e + 1 {
			batches = epoch(t, l)
		}
		clips := map[string][]uint16{}
		for _, b := range batches {
			for k, id := range b.ids {
				clips[id] = b.values[k*80*60:][:80*60]
			}
		}
		return clips
	}
	want := byClip(LoaderOptions{Batch: 4, Seed: 1}, 1)
	if got := byClip(LoaderOptions{Batch: 5, Seed: 2, Sequential: true, Workers: 3}, 1); !reflect.DeepEqual(got, want) {
		t.Error("the masks depend on the order")
	}
	if got := byClip(LoaderOptions{Batch: 4, Seed: 1}, 0); reflect.DeepEqual(got, want) {
		t.Error("the masks are the same in every epoch")
	}
}

func TestBadShardWhileLoading(t *testing.T) {
	f := fresh(t, lengths(15, 9)...)
	check(t, os.Truncate(f.shardPath(2), 4100))
	l := loader(t, f.open(Options{}), LoaderOptions{Batch: 5, Sequential: true})
	for range 2 {
		b, err := l.Next(context.Background())
		check(t, err)
		b.Release()
	}
	state := l.State()
	for range 2 {
		_, err := l.Next(context.Background())
		wantError(t, err, "00002-drawn.h5", "4100 bytes")
	}
	if got := l.State(); !reflect.DeepEqual(got, state) {
		t.Errorf("an error moved the state to %+v", got)
	}
	skip := loader(t, f.open(Options{OnBadShard: Skip}), LoaderOptions{Batch: 5})
	if ids := idsOf(epoch(t, skip)); len(ids) != 10 {
		t.Errorf("skipping leaves %v", ids)
	}
	wantError(t, skip.Resume(State{Version: 1, Manifest: state.Manifest, Entries: 15, Order: skip.State().Order}), "15 clips, but 10")
}

func TestNextStopsWithItsContext(t *testing.T) {
	d := fresh(t, lengths(8, 9)...).open(Options{})
	hold := make(chan struct{})
	l := loader(t, d, LoaderOptions{Batch: 4, Prepare: func(*Batch) error { <-hold; return nil }})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(hold)
	if n := len(epoch(t, l)); n != 2 {
		t.Errorf("%d batches afterwards, want 2", n)
	}
}

func TestPrepare(t *testing.T) {
	d := fresh(t, lengths(8, 9)...).open(Options{})
	l := loader(t, d, LoaderOptions{Batch: 3, Prepare: func(b *Batch) error {
		if b.Step == 2 {
			return errors.New("no label")
		}
		b.Value = b.Clip(0).Text
		return nil
	}})
	for range 2 {
		b, err := l.Next(context.Background())
		check(t, err)
		if b.Value != b.Clip(0).Text {
			t.Errorf("value %v", b.Value)
		}
		b.Release()
	}
	_, err := l.Next(context.Background())
	wantError(t, err, "no label")
}

func TestNewLoaderRefuses(t *testing.T) {
	d := fresh(t, 5, 12).open(Options{})
	for _, c := range []struct {
		o    LoaderOptions
		want string
	}{
		{LoaderOptions{}, "batch of 0"},
		{LoaderOptions{Batch: 1, Rank: 2, World: 2}, "rank 2 of 2"},
		{LoaderOptions{Batch: 1, Rank: -1}, "rank -1"},
		{LoaderOptions{Batch: 1, Buckets: -1}, "negative"},
		{LoaderOptions{Batch: 1, Workers: -1}, "negative"},
		{LoaderOptions{Batch: 3, DropLast: true}, "2 clips are too few for a step of 3"},
		{LoaderOptions{Batch: 1, Frames: 10}, "clip-1 has 12 frames, more than the 10"},
	} {
		_, err := NewLoader(d, c.o)
		wantError(t, err, c.want)
	}
	l := loader(t, d, LoaderOptions{Batch: 1})
	l.Close()
	_, err := l.Next(context.Background())
	wantError(t, err, "closed")
}

func TestMemoryIsReusedAndFreed(t *testing.T) {
	d := fresh(t, lengths(40, 30)...).open(Options{})
	var live, calls atomic.Int64
	o := LoaderOptions{
		Batch: 4, Frames: 30, Half: true, Prefetch: 3 * 4 * 80 * 30 * 2,
		Alloc: func(n int) ([]byte, error) {
			live.Add(1)
			calls.Add(1)
			return make([]byte, n), nil
		},
		Free: func([]byte) { live.Add(-1) },
	}
	l, err := NewLoader(d, o)
	check(t, err)
	for range 5 {
		epoch(t, l)
	}
	if n := calls.Load(); n > 5 {
		t.Errorf("%d buffers for 50 batches of which three are read ahead", n)
	}
	held, err := l.Next(context.Background())
	check(t, err)
	l.Close()
	if n := live.Load(); n != 1 {
		t.Errorf("%d buffers live while one batch is held", n)
	}
	held.Release()
	held.Release()
	if n := live.Load(); n != 0 {
		t.Errorf("%d buffers live in the end", n)
	}

}

func TestBadMemory(t *testing.T) {
	d := fresh(t, lengths(8, 30)...).open(Options{})
	for _, c := range []struct {
		alloc func(n int) ([]byte, error)
		want  string
	}{
		{func(int) ([]byte, error) { return nil, errors.New("nothing left to lock") }, "nothing left to lock"},
		{func(int) ([]byte, error) { return make([]byte, 100), nil }, "Alloc gave 100 bytes"},
		{func(n int) ([]byte, error) { return make([]byte, n+16)[1:], nil }, "not aligned"},
	} {
		l := loader(t, d, LoaderOptions{Batch: 4, Frames: 30, Alloc: c.alloc})
		_, err := l.Next(context.Background())
		wantError(t, err, "memory for a batch", c.want)
	}
}
