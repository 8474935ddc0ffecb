package mel

import (
	"context"
	"errors"
)

// ErrClosed is returned by an engine that was closed.
var ErrClosed = errors.New("the mel engine is closed")

// Engine computes mels. It is safe for concurrent use.
type Engine interface {
	// Name says what computes, as in "cpu".
	Name() string
	// Config is what it computes.
	Config() Config
	// Clip reserves room for a clip of n samples, waiting for room if need be.
	// Who reserves must release.
	Clip(ctx context.Context, n int) (Clip, error)
	// Close frees what the engine holds. All clips must have been released.
	Close() error
}

// Clip is a reserved place: fill Samples, Compute, use the Mel, Release. It
// belongs to one goroutine at a time.
type Clip interface {
	// Samples is the room to fill, all of it, before Compute.
	Samples() []int16
	// Compute computes the mel of the samples. The Mel's frames are valid until
	// Release.
	Compute(ctx context.Context) (Mel, error)
	// Release gives the place back. Only the first call counts.
	Release()
}
