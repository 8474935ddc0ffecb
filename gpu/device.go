package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/worker"
)

// patience is how often a worker that does not start is tried again, a second
// later, two, four: other programs may fill the device for a while.
const patience = 3

// device is a GPU's worker, kept running.
type device struct {
	o      Options
	cfg    mel.Config
	info   Device
	layout wire.Layout
	memory string // the shared memory's name
	track  string // of the timeline

	mu     sync.Mutex
	level  int
	tuning tuning
	super  *worker.Supervisor
	closed bool
	timing wire.Timing // of all batches
}

func newDevice(o Options, c mel.Config, info Device) *device {
	return &device{o: o, cfg: c, info: info, level: o.Level, track: fmt.Sprintf("GPU %d", info.Index)}
}

// start tunes the device, makes the shared memory and starts the worker, unless
// the scout is one for it.
func (d *device) start(ctx context.Context, s *scout) (*worker.Memory, error) {
	d.tune(ctx)
	d.layout = wire.NewLayout(d.cfg, d.tuning.slots, d.tuning.chunk)
	memory, err := worker.NewMemory(d.layout.Bytes())
	if err != nil {
		return nil, err
	}
	d.memory = memory.Name()
	if err := d.supervise(d.o.provoke); err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	if child := s.take(d.info.Index); child != nil {
		d.super.Adopt(child)
	}
	// A batch of nothing starts the worker and shows that it answers.
	if err := d.compute(ctx, wire.Batch{}); err != nil {
		return nil, errors.Join(err, d.close(), memory.Close())
	}
	return memory, nil
}

// tune chooses the tuning of the level, or of the one below that works.
func (d *device) tune(ctx context.Context) {
	for {
		var err error
		if d.tuning, err = tune(ctx, d.o, d.cfg, d.info, d.level); err == nil {
			return
		}
		d.o.log("warning: GPU %d: level %d failed, level %d takes its place: %v", d.info.Index, d.level, d.level-1, err)
		d.level--
	}
}

// supervise sets up the worker's supervision with the tuning of now.
func (d *device) supervise(provoke string) error {
	setup, err := wire.Setup{
		Device: d.info.Index, Config: d.cfg, Memory: d.memory, Layout: d.layout,
		Chunk: d.tuning.chunk, Buffers: d.tuning.buffers, Groups: d.tuning.groups, Single: d.o.Single, Compile: d.o.compile, Provoke: provoke,
	}.Encode()
	if err != nil {
		return err
	}
	o := workerOptions(d.o, d.info.Index)
	o.First = []byte(setup)
	d.super = worker.Supervise(o, d.layout.Slots)
	return nil
}

// compute computes a batch. It restarts a worker that dies or hangs, waits for
// one that cannot start, and goes down a level when neither helps. The samples
// stay in the shared memory, so a batch is done over with the same result.
func (d *device) compute(ctx context.Context, b wire.Batch) error {
	req, start := b.Encode(), time.Now()
	defer func() { timeline.Add(d.track, "batch", "", start) }()
	for try := 0; ; {
		super := d.current()
		reply, err := super.Call(ctx, req)
		if err == nil {
			return d.account(reply)
		}
		var died *worker.Died
		var remote *worker.RemoteError
		switch {
		case ctx.Err() != nil || errors.Is(err, worker.ErrClosed) && d.isClosed() || errors.As(err, &remote):
			return err
		case errors.Is(err, worker.ErrClosed): // another batch has gone down a level meanwhile
			continue
		case !errors.As(err, &died) && try < patience:
			wait := time.Second << try
			d.o.log("warning: GPU %d: the worker does not start, trying again in %v: %v", d.info.Index, wait, err)
			if err := pause(ctx, wait); err != nil {
				return err
			}
			try++
			continue
		}
		if !d.lower(super, err) {
			return fmt.Errorf("GPU %d (%s) is given up: %w", d.info.Index, d.info.Name, err)
		}
		try = 0
	}
}

// lower puts the level below in place of the worker that failed. It reports
// whether it is worth another try.
func (d *device) lower(failed *worker.Supervisor, why error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.super != failed {
		return true // done already, for another batch
	}
	if d.level == 0 || d.closed {
		return false
	}
	d.level--
	d.o.log("warning: GPU %d: level %d failed, level %d takes its place: %v", d.info.Index, d.level+1, d.level, why)
	slots := d.tuning.slots
	d.tuning = tuningOf(d.info, d.level)
	d.tuning.slots = slots // they are in use
	_ = failed.Close()     // it never fails
	return d.supervise("") == nil
}

func (d *device) current() *worker.Supervisor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.super
}

func (d *device) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

func (d *device) account(reply []byte) error {
	t, err := wire.DecodeTiming(reply)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timing.Add(t)
	return nil
}

func (d *device) describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("GPU %d: %s, capability %s, level %d: %s; %d MB pinned",
		d.info.Index, d.info.Name, d.info.Capability, d.level, d.tuning, d.layout.Bytes()>>20)
}

func (d *device) close() error {
	d.mu.Lock()
	d.closed = true
	super := d.super
	d.mu.Unlock()
	return super.Close()
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, t time.Duration) error {
	select {
	case <-time.After(t):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
