package tts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/melforge/melforge/tts/wire"
	"github.com/melforge/melforge/worker"
)

// native is the worker melforge-tts, started when first called.
type native struct {
	path   string // its absence is seen when it is needed
	worker *worker.Supervisor
}

func openNative(o Options) native {
	args := []string{"--cache", o.CacheDir}
	if o.EspeakData != "" {
		args = append(args, "--espeak-data", o.EspeakData)
	}
	return native{path: o.Worker, worker: worker.Supervise(worker.Options{
		Path:        o.Worker,
		Args:        args,
		MemoryLimit: o.MemoryLimit,
		Timeout:     o.Timeout,
		Log:         o.Log,
	}, o.Jobs)}
}

func (n native) call(ctx context.Context, r wire.Request, samples []int16) (wire.Reply, []int16, error) {
	if n.path == "" {
		return wire.Reply{}, nil, remedy(fmt.Errorf("melforge-tts: %w", fs.ErrNotExist))
	}
	req, err := r.Encode(samples)
	if err != nil {
		return wire.Reply{}, nil, err
	}
	b, err := n.worker.Call(ctx, req)
	if err != nil {
		return wire.Reply{}, nil, remedy(err)
	}
	return wire.DecodeReply(b)
}

// remedy adds what to do about a worker that is not there.
func remedy(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: install melforge-tts beside melforge, or use an espeak voice", err)
	}
	return err
}
