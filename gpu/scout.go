package gpu

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"

	"github.com/melforge/melforge/worker"
)

// scout is a worker that was started before it was known which devices there
// are, because starting takes most of the time: it says so, and meanwhile makes
// its own device ready, the one that is likeliest to be used.
type scout struct {
	device int
	child  *worker.Process
	taken  atomic.Bool
}

// sendScout starts a scout and returns the devices to use. An error is an
// *Unavailable.
func sendScout(ctx context.Context, o Options) (*scout, []Device, error) {
	if o.Worker == "" {
		return nil, nil, explain(errNoWorker)
	}
	s := new(scout)
	if len(o.Devices) > 0 {
		s.device = max(0, o.Devices[0])
	}
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	w := workerOptions(o, s.device)
	log := w.Log
	w.Log = func(line string) { // who is not used has nothing to say but in the error
		if s.taken.Load() {
			log(line)
		}
	}
	var err error
	if s.child, err = worker.Begin(ctx, w); err != nil {
		return nil, nil, explain(err)
	}
	var all, chosen []Device
	if err = json.Unmarshal(s.child.About(), &all); err != nil {
		err = noAnswer(err)
	} else {
		chosen, err = o.of(all)
	}
	if err != nil {
		s.dismiss()
		return nil, nil, err
	}
	return s, chosen, nil
}

// take gives the worker of a device, if the scout is that, to one who sees to its
// end. It is called once for each device.
func (s *scout) take(device int) *worker.Process {
	if s == nil || s.device != device {
		return nil
	}
	child := s.child
	s.child = nil
	s.taken.Store(true)
	return child
}

// dismiss ends a scout that nobody took.
func (s *scout) dismiss() {
	if s.child != nil {
		_ = s.child.Close() // it never fails
	}
}

// workerOptions are those of a device's worker, but for its setup.
func workerOptions(o Options, device int) worker.Options {
	return worker.Options{
		Path: o.Worker, Args: []string{"--device", strconv.Itoa(device)}, Env: o.env, Timeout: o.Timeout,
		Log: func(line string) { o.log("GPU %d: %s", device, line) },
	}
}
