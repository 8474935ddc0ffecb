package forge

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// queue lets the clips of all shards through, those of a few shards at a time. The
// next shard's begin when the last of one before have begun, so that no core
// waits for the slowest clip of a shard, nor for its file.
type queue struct {
	shards *semaphore.Weighted // that hold memory: from their first clip to their last row
	begin  *semaphore.Weighted // those whose clips begin
	hand   *semaphore.Weighted // places for clips in hand, of all shards together
	places int64
	turns  chan struct{} // to read and judge, one a core; nil where the engine computes on the same cores
}

const (
	// overlap is how many times as many clips as jobs are in hand, so that voices
	// need not wait while others are resampled, written and synced.
	overlap = 4
	// elsewhere is that number for an engine that is no core of this machine:
	// most clips wait for it.
	elsewhere = 8
	// files is how many shards' clips begin by turns, at most. The system writes to
	// a file one call at a time, more slowly than many cores or a GPU make rows.
	files = 4
)

// beginning is how many shards' clips begin by turns with as many jobs.
func beginning(jobs int) int { return min(1+jobs/4, files) }

// newQueue makes a queue for as many jobs. The device computes without them.
func newQueue(jobs int, device bool) queue {
	q := queue{shards: semaphore.NewWeighted(int64(1 + beginning(jobs))), begin: semaphore.NewWeighted(int64(beginning(jobs))), places: int64(overlap * jobs)}
	if device {
		q.places, q.turns = int64(elsewhere*jobs), make(chan struct{}, jobs)
	}
	q.hand = semaphore.NewWeighted(q.places)
	return q
}

// enter waits until one more shard may hold memory. Leaving again is free.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	if err := q.shards.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { q.shards.Release(1) }), nil
}

// turn waits for a core, and gives it back by what it returns. A clip that has
// its room in the engine's memory holds up all that share a batch with it, so
// that it is better to fill a few quickly than all slowly.
func (q *queue) turn() (over func()) {
	if q.turns == nil {
		return func() {}
	}
	q.turns <- struct{}{}
	return func() { <-q.turns }
}

// each runs work for the clips 0 to n-1 of a shard, each of which takes weight
// places, and stops at the first error.
func (q *queue) each(ctx context.Context, n int, weight int64, work func(ctx context.Context, i int) error) error {
	if err := q.begin.Acquire(ctx, 1); err != nil {
		return err
	}
	begun := sync.OnceFunc(func() { q.begin.Release(1) })
	defer begun()
	g, within := errgroup.WithContext(ctx)
	for i := range n {
		if q.hand.Acquire(within, weight) != nil {
			break
		}
		g.Go(func() error {
			defer q.hand.Release(weight)
			return safely(within, i, work)
		})
	}
	begun()
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err() // what was stopped from outside is not complete
}

// weight is how many places a clip takes. Wavs that are given need no voices,
// and keep the cores busy on their own.
func (m *making) weight() int64 {
	if m.plan.Settings.Voice == "" && m.forge.queue.turns == nil {
		return 2
	}
	return 1
}

// group runs work for the items 0 to n-1 on at most limit goroutines and stops
// at the first error.
func group(ctx context.Context, n, limit int, work func(ctx context.Context, i int) error) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		if within.Err() != nil {
			break
		}
		g.Go(func() error { return safely(within, i, work) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err() // a group that was stopped from outside is not complete
}

// safely turns a panic into an error: it must not end the process, which a
// runner may share with other work.
func safely(ctx context.Context, i int, work func(ctx context.Context, i int) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	return work(ctx, i)
}
