package loop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
)

// Batch is what a step trains on.
type Batch struct {
	Inputs  []*tensors.Tensor // as the model's Loss wants them
	Samples int
	Epoch   int
	// State is where the source goes on after this batch.
	State json.RawMessage
	// HandOver is how long it took to make the inputs and copy them to the device.
	HandOver time.Duration
}

// Source gives batches without end.
type Source interface {
	Next(ctx context.Context) (*Batch, error)
	// Resume makes Next go on after the batch that had this state.
	Resume(state json.RawMessage) error
}

// feed takes the next batch from a source while the device works on this one.
type feed struct {
	source Source // where it is asked only when a batch is needed
	ready  chan fed
	cancel context.CancelFunc
}

type fed struct {
	batch *Batch
	err   error
}

// startFeed begins at once, unless each batch is to be taken when it is needed.
func startFeed(ctx context.Context, s Source, inline bool) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{ready: make(chan fed, 1), cancel: cancel}
	if inline {
		f.source = s
		close(f.ready)
		return f
	}
	go func() {
		defer close(f.ready)
		for {
			b, err := s.Next(ctx)
			select {
			case f.ready <- fed{b, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return f
}

// next waits for a batch.
func (f *feed) next(ctx context.Context) (*Batch, error) {
	if f.source != nil {
		return f.source.Next(ctx)
	}
	select {
	case x, ok := <-f.ready:
		if !ok {
			return nil, context.Cause(ctx)
		}
		return x.batch, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop waits until the source is no longer used.
func (f *feed) stop() {
	f.cancel()
	for range f.ready {
	}
}
