package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/trainer"
)

// Encode makes a model's inputs of a batch. The batch's memory is given back
// afterwards, so inputs must not lie in it.
type Encode func(*trainer.Batch) ([]*tensors.Tensor, error)

// Batches is what a trainer.Loader does.
type Batches interface {
	Next(ctx context.Context) (*trainer.Batch, error) // io.EOF between epochs
	State() trainer.State
	Resume(trainer.State) error
}

// FromLoader is the Source of a loader's batches, one epoch after the other.
func FromLoader(l Batches, encode Encode) Source { return &loaderSource{l, encode} }

type loaderSource struct {
	loader Batches
	encode Encode
}

// Next implements Source.
func (s *loaderSource) Next(ctx context.Context) (*Batch, error) {
	b, err := s.loader.Next(ctx)
	if errors.Is(err, io.EOF) {
		if b, err = s.loader.Next(ctx); errors.Is(err, io.EOF) {
			return nil, errors.New("an epoch without a single batch: the dataset is smaller than a batch")
		}
	}
	if err != nil {
		return nil, err
	}
	defer b.Release()
	state, err := json.Marshal(s.loader.State())
	if err != nil {
		return nil, err
	}
	start := time.Now()
	inputs, err := s.encode(b)
	timeline.Add("batches", "hand over", "", start)
	if err != nil {
		return nil, err
	}
	return &Batch{Inputs: inputs, Samples: b.Len(), Epoch: b.Epoch, State: state, HandOver: time.Since(start)}, nil
}

// Resume implements Source.
func (s *loaderSource) Resume(state json.RawMessage) error {
	var st trainer.State
	if err := json.Unmarshal(state, &st); err != nil {
		return fmt.Errorf("where the loader stood: %w", err)
	}
	return s.loader.Resume(st)
}

// Mels copies the array of a batch to the device: float16 or float32
// [B, n_mels, T].
func Mels(b compute.Backend, x *trainer.Batch) (*tensors.Tensor, error) {
	dims := []int{x.Len(), x.Mels, x.Width}
	if x.Half != nil {
		return tensors.FromRaw(b, 0, shapes.Make(dtypes.Float16, dims...), bytesOf(x.Half))
	}
	return tensors.FromRaw(b, 0, shapes.Make(dtypes.Float32, dims...), bytesOf(x.Float))
}

// Labels copies numbers to the device: int32 [dims...].
func Labels(b compute.Backend, values []int32, dims ...int) (*tensors.Tensor, error) {
	return tensors.FromRaw(b, 0, shapes.Make(dtypes.Int32, dims...), bytesOf(values))
}

func bytesOf[T uint16 | int32 | float32](x []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(one)))
}
