package transforms

import (
	"cmp"
	"context"
	"sync"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/manifests"
)

// Ahead makes shards in this process while their plan is still being made: what
// the planner has just read to hash it is still in memory, and cores that would
// wait for the planner have work. The pipeline then finds them made, or on the
// way; whatever it does not find it makes. It implements plan.Follower.
//
// A shard that was made ahead is the same as one that was left by a run that
// did not finish: should the plan fail, the next run takes it up.
type Ahead struct {
	process *Process
	job     Job
	ctx     context.Context
	cancel  context.CancelFunc
	limit   chan struct{}
	busy    sync.WaitGroup

	plan    *manifests.Plan
	opening *opening
	err     error // of the opening, before it began
}

// aheadShards is how many shards may have begun and not be done. Most of them
// wait for their turn, or for the engine to start, and hold no more than their
// items.
const aheadShards = 64

// shardKey is a shard of a dataset.
type shardKey struct{ dir, name string }

// beginning is a shard that was begun ahead.
type beginning struct {
	done  chan struct{} // closed when the others are set
	tally tally
	err   error
}

// Ahead begins to work for a job whose plan is being made. It must be stopped.
func (p *Process) Ahead(ctx context.Context, job Job) *Ahead {
	a := &Ahead{process: p, job: job, limit: make(chan struct{}, aheadShards)}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// Expect opens the engine.
func (a *Ahead) Expect(p manifests.Plan) {
	a.plan = &p
	a.opening, a.err = a.process.open(a.plan, a.job.Engine, a.job.Jobs)
}

// Shard begins a shard, waiting for earlier ones if there are many. Its error is
// that of any of them.
func (a *Ahead) Shard(s manifests.ShardPlan, items []manifests.Item) error {
	if a.err != nil {
		return a.err
	}
	select {
	case a.limit <- struct{}{}:
	case <-a.ctx.Done():
	}
	if err := a.ctx.Err(); err != nil {
		return cmp.Or(a.process.Err(), err)
	}
	b := &beginning{done: make(chan struct{})}
	a.process.mu.Lock()
	a.process.begun[shardKey{a.job.Dir, s.Name}] = b
	a.process.mu.Unlock()
	a.busy.Go(func() {
		defer func() { <-a.limit }()
		defer close(b.done)
		if b.tally, b.err = a.make(s, items); b.err != nil {
			a.process.fail(b.err)
			a.cancel() // the others would be in vain
		}
	})
	return nil
}

func (a *Ahead) make(s manifests.ShardPlan, items []manifests.Item) (tally, error) {
	select {
	case <-a.opening.done:
	case <-a.ctx.Done():
		return tally{}, a.ctx.Err()
	}
	if a.opening.err != nil {
		return tally{}, a.opening.err
	}
	r, err := a.opening.forge.MakeItems(a.ctx, datasets.At(a.job.Dir), a.plan, s, items)
	return tallyOf(&r, a.plan.Settings.Rate), err
}

// Stop ends what is still at work, and waits for that. What was made stays.
func (a *Ahead) Stop() {
	a.cancel()
	a.busy.Wait()
}

// make makes a shard, or waits for it where it was begun ahead.
func (p *Process) make(ctx context.Context, f *forge.Forge, folder datasets.Folder, plan *manifests.Plan, s manifests.ShardPlan) (tally, error) {
	key := shardKey{folder.Dir(), s.Name}
	p.mu.Lock()
	b := p.begun[key]
	delete(p.begun, key) // a runner that asks again gets it from the disk
	p.mu.Unlock()
	if b == nil {
		r, err := f.Make(ctx, folder, plan, s)
		return tallyOf(&r, plan.Settings.Rate), err
	}
	select {
	case <-b.done:
		return b.tally, b.err
	case <-ctx.Done():
		return tally{}, ctx.Err()
	}
}
