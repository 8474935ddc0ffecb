//go:build cuda

package device

import (
	"context"
	"runtime"

	"github.com/melforge/melforge/gpu/wire"
)

// Queue hands batches to the device's thread and waits for them on another.
type Queue struct {
	d       *Device
	jobs    chan *job
	started chan *job
	failed  chan error
}

type job struct {
	batch   wire.Batch
	pending *Pending
	done    chan wire.Timing
}

// NewQueue returns a queue; Run must be called on the device's thread.
func NewQueue(d *Device) *Queue {
	n := 4 * d.setup.Layout.Slots
	return &Queue{d: d, jobs: make(chan *job, n), started: make(chan *job, n), failed: make(chan error, 1)}
}

// Handle is the worker's handler. It answers when the batch's frames are in the
// shared memory. It does not heed its ctx: what the device does cannot be
// called back, and until it is done the slot must not be used again.
func (q *Queue) Handle(_ context.Context, req []byte) ([]byte, error) {
	b, err := wire.DecodeBatch(req, q.d.setup.Layout)
	if err != nil {
		return nil, err
	}
	return q.Do(b).Encode(), nil
}

// Do computes a batch.
func (q *Queue) Do(b wire.Batch) wire.Timing {
	j := &job{batch: b, done: make(chan wire.Timing, 1)}
	q.jobs <- j
	return <-j.done
}

// Run feeds the device until stop is closed, or until the device fails: then
// nothing can be computed in this process any more.
func (q *Queue) Run(stop <-chan struct{}) error {
	go q.wait()
	for {
		select {
		case <-stop:
			return nil
		case err := <-q.failed:
			return err
		case j := <-q.jobs:
			j.pending = q.d.Pending()
			q.started <- j
			if q.d.setup.Provoke != "" && len(j.batch.Clips) > 0 {
				if err := q.d.Provoke(); err != nil {
					return err
				}
			}
			if err := q.d.Start(j.batch, j.pending); err != nil {
				return err
			}
		}
	}
}

// wait answers in the order in which the batches were started.
func (q *Queue) wait() {
	runtime.LockOSThread()
	if err := q.d.Attach(); err != nil {
		q.failed <- err
		return
	}
	for j := range q.started {
		t, err := j.pending.Wait()
		if err != nil {
			q.failed <- err
			return
		}
		j.done <- t
	}
}
