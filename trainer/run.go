package trainer

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/melforge/melforge/internal/timeline"
)

// run is one epoch under way: workers read the clips of its batches, in order,
// as far ahead as the memory allows, and next hands the batches out.
type run struct {
	opts    LoaderOptions
	staging *staging
	v       *version
	plan    plan
	epoch   int
	steps   int

	readahead *readahead

	workers sync.WaitGroup
	mu      sync.Mutex
	wake    sync.Cond // a worker may have something to do
	begun   int       // steps whose batches are in queue or were given
	given   int       // steps whose batches were given
	queue   []*Batch  // begun and not given, in order
	bytes   int       // of the memory of queue
	clip    int       // the next one to read of the last in queue
	stopped bool
}

func newRun(l *Loader, v *version, p plan) *run {
	r := &run{opts: l.opts, staging: l.staging, v: v, plan: p, epoch: l.epoch, steps: p.steps(l.opts.Rank), readahead: &l.readahead}
	r.wake.L = &r.mu
	return r
}

// work starts n workers, which end with the epoch.
func (r *run) work(n int) {
	for range n {
		r.workers.Go(func() {
			for b, k := r.take(); b != nil; b, k = r.take() {
				r.read(b, k)
			}
		})
	}
}

// take gives a worker a clip to read, or nil when there is nothing left.
func (r *run) take() (b *Batch, k int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.stopped {
		if len(r.queue) > 0 {
			if b := r.queue[len(r.queue)-1]; r.clip < b.Len() {
				r.clip++
				return b, r.clip - 1
			}
		}
		if r.begun == r.steps {
			break
		}
		if len(r.queue) > 0 && r.bytes+r.size(r.begun) > r.opts.Prefetch {
			r.wake.Wait()
			continue
		}
		r.begin()
	}
	return nil, 0
}

// size is the bytes of a step's batch.
func (r *run) size(step int) int {
	values := len(r.plan.indices(step, r.opts.Rank)) * r.v.cfg.NMels * r.width(step)
	if r.opts.Half {
		return values * 2
	}
	return values * 4
}

// width is the frames of a step's batch.
func (r *run) width(step int) int {
	if r.opts.Frames > 0 {
		return r.opts.Frames
	}
	longest := 1
	for _, i := range r.plan.indices(step, r.opts.Rank) {
		longest = max(longest, r.v.frames(int(i)))
	}
	return (longest + r.opts.Multiple - 1) / r.opts.Multiple * r.opts.Multiple
}

// begin puts the next batch into the queue, to be read. The caller holds the
// lock.
func (r *run) begin() {
	indices := r.plan.indices(r.begun, r.opts.Rank)
	b := &Batch{
		Epoch: r.epoch, Step: r.plan.before() + r.begun, Mels: r.v.cfg.NMels, Width: r.width(r.begun), v: r.v, begun: time.Now(), done: make(chan struct{}),
		Indices: make([]int, len(indices)), Frames: make([]int, len(indices)), Pads: make([]uint16, len(indices)),
	}
	for k, i := range indices {
		b.Indices[k], b.Frames[k] = int(i), r.v.frames(int(i))
	}
	size := r.size(r.begun)
	r.begun++
	r.clip = 0
	r.queue = append(r.queue, b)
	if b.memory, b.err = r.staging.get(size); b.err != nil {
		r.clip = b.Len()
		close(b.done)
		return
	}
	b.home = r.staging
	r.bytes += len(b.memory)
	if r.opts.Half {
		b.Half = view[uint16](b.memory, size/2)
	} else {
		b.Float = view[float32](b.memory, size/4)
	}
	b.left.Store(int32(b.Len()))
	r.wake.Broadcast()
}

// read reads a clip and completes its batch if it is the last.
func (r *run) read(b *Batch, k int) {
	if k == 0 {
		r.ahead(b.Step - r.plan.before() + 1)
	}
	b.read(k, r.opts.Augment)
	if b.left.Add(-1) > 0 {
		return
	}
	if b.err == nil && r.opts.Prepare != nil {
		b.err = r.opts.Prepare(b)
	}
	timeline.Add("batches", "read", "", b.begun)
	close(b.done)
}

// ahead has the kernel fetch the clips of a step, so that no worker waits for
// the disk.
func (r *run) ahead(step int) {
	if step >= r.steps || !r.readahead.wanted() {
		return
	}
	for _, i := range r.plan.indices(step, r.opts.Rank) {
		p := r.v.lines.places[i]
		r.v.shards[p.shard].willNeed(int(p.row))
	}
}

// next waits for the next batch and hands it out.
func (r *run) next(ctx context.Context) (*Batch, error) {
	b := r.head()
	if b == nil {
		return nil, io.EOF
	}
	select {
	case <-b.done:
	default:
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given++
	r.queue = r.queue[1:]
	r.bytes -= len(b.memory)
	r.wake.Broadcast()
	return b, nil
}

// head is the batch to be given next, nil at the end of the epoch.
func (r *run) head() *Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given == r.steps {
		return nil
	}
	if len(r.queue) == 0 { // no worker came to it yet
		r.begin()
	}
	return r.queue[0]
}

// position is the clips that all ranks have taken together.
func (r *run) position() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan.position(r.given)
}

// stop ends the workers and takes back what was not given.
func (r *run) stop() {
	r.mu.Lock()
	r.stopped = true
	r.wake.Broadcast()
	r.mu.Unlock()
	r.workers.Wait()
	for _, b := range r.queue {
		b.Release()
	}
	r.queue = nil
}
