package trainer

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"testing"
)

func TestResumeAfterEveryBatch(t *testing.T) {
	d := fresh(t, lengths(23, 30)...).open(Options{})
	a := DefaultSpecAugment()
	for _, o := range []LoaderOptions{{Batch: 4}, {Batch: 4, Buckets: 3, World: 2}, {Batch: 5, Sequential: true, World: 3, DropLast: true}} {
		o.Augment, o.Seed = &a, 11
		whole := loader(t, d, o)
		batches := append(epoch(t, whole), epoch(t, whole)...)
		l := loader(t, d, o)
		for done := 0; ; done++ {
			state := viaJSON(t, l.State())
			o.Workers = 1 + done%3
			resumed := loader(t, d, o)
			check(t, resumed.Resume(state))
			if got := resumed.State(); !reflect.DeepEqual(got, state) {
				t.Fatalf("resumed at %+v, want %+v", got, state)
			}
			rest := epoch(t, resumed)
			if state.Epoch == 0 {
				rest = append(rest, epoch(t, resumed)...)
			}
			if !reflect.DeepEqual(rest, batches[done:]) && len(rest)+len(batches[done:]) > 0 {
				t.Errorf("%+v: after %d batches another remainder: %v, want %v", o, done, idsOf(rest), idsOf(batches[done:]))
			}
			b, err := l.Next(context.Background())
			if errors.Is(err, io.EOF) {
				if state.Epoch == 1 {
					break
				}
				b, err = l.Next(context.Background())
			}
			check(t, err)
			b.Release()
		}
	}
}

func TestResumeWithOtherRanks(t *testing.T) {
	d := fresh(t, lengths(41, 9)...).open(Options{})
	for done := range 6 {
		var ids []string
		var state State
		for rank := range 2 {
			l := loader(t, d, LoaderOptions{Batch: 4, World: 2, Rank: rank})
			for range done {
				b, err := l.Next(context.Background())
				if errors.Is(err, io.EOF) {
					break
				}
				check(t, err)
				ids = append(ids, keepBatch(b).ids...)
			}
			if rank == 0 {
				state = l.State()
			}
		}
		for rank := range 3 {
			l := loader(t, d, LoaderOptions{Batch: 8, World: 3, Rank: rank})
			check(t, l.Resume(state))
			ids = append(ids, idsOf(epoch(t, l))...)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, allIDs(41)) {
			t.Errorf("after %d steps: %v", done, ids)
		}
	}
}

func TestGrowthIsTakenUpAtTheNextEpoch(t *testing.T) {
	f := fresh(t, lengths(10, 9)...)
	d := f.open(Options{})
	follow, fixed := loader(t, d, LoaderOptions{Batch: 3}), loader(t, f.open(Options{}), LoaderOptions{Batch: 3, Fixed: true})
	b, err := follow.Next(context.Background())
	check(t, err)
	state := viaJSON(t, follow.State())
	first := keepBatch(b)
	f.add(lengths(4, 9)...)
	rest := epoch(t, follow)
	if n := len(first.ids) + len(idsOf(rest)); n != 10 {
		t.Errorf("the epoch under way has %d clips, want 10", n)
	}
	if n := len(idsOf(epoch(t, follow))); n != 14 {
		t.Errorf("the next has %d clips, want 14", n)
	}
	if a, b := len(idsOf(epoch(t, fixed))), len(idsOf(epoch(t, fixed))); a != 10 || b != 10 {
		t.Errorf("a fixed loader has %d and %d clips, want 10", a, b)
	}

	// A state of before goes on with the dataset of before, also in a new process.
	later := loader(t, f.open(Options{}), LoaderOptions{Batch: 3})
	check(t, later.Resume(state))
	if got := epoch(t, later); !reflect.DeepEqual(got, rest) {
		t.Errorf("resumed to %v, want %v", idsOf(got), idsOf(rest))
	}
	if n := len(idsOf(epoch(t, later))); n != 14 {
		t.Errorf("the epoch after that has %d clips, want 14", n)
	}
	check(t, os.Remove(f.dir+"/"+state.Manifest.File))
	wantError(t, loader(t, f.open(Options{}), LoaderOptions{Batch: 3}).Resume(state), "cannot go back")
}
