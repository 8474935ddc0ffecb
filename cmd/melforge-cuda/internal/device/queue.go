//go:build cuda

package device

import (
	"runtime"

	"github.com/melforge/melforge/gpu/wire"
)

// Queue starts batches on the device's thread and waits for them on another.
// There is no third: a machine whose cores all read files wakes threads late.
type Queue struct {
	d       *Device
	started chan job
	failed  func(error)
}

type job struct {
	pending *Pending
	done    func(wire.Timing)
}

// NewQueue returns a queue. If the device fails, failed is told, and nothing
// can be computed in this process any more.
func NewQueue(d *Device, failed func(error)) *Queue {
	q := &Queue{d: d, started: make(chan job, 4*d.setup.Layout.Slots), failed: failed}
	go q.wait()
	return q
}

// Start starts a batch; it is for the device's thread. When the frames are in the
// host's memory done is called, in the order of the starts, on another thread.
func (q *Queue) Start(b wire.Batch, done func(wire.Timing)) error {
	p := q.d.Pending()
	q.started <- job{p, done}
	if q.d.setup.Provoke != "" && len(b.Clips) > 0 {
		if err := q.d.Provoke(); err != nil {
			return err
		}
	}
	return q.d.Start(b, p)
}

// wait tells of the batches in the order in which they were started.
func (q *Queue) wait() {
	runtime.LockOSThread()
	if err := q.d.Attach(); err != nil {
		q.failed(err)
		return
	}
	for j := range q.started {
		t, err := j.pending.Wait()
		if err != nil {
			q.failed(err)
			return
		}
		j.done(t)
	}
}
