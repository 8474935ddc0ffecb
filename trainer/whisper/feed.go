package whisper

import (
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/gomlx/core/tensors"
)

// feed hands out the batches of a Bench.
type feed struct {
	batches chan batch
	done    chan struct{}
	fixed   *batch
}

type batch struct {
	mels, labels *tensors.Tensor
	err          error
}

func (f *feed) next() batch {
	if f.fixed != nil {
		return *f.fixed
	}
	return <-f.batches
}

func (f *feed) stop() { close(f.done) }

// feed starts the copying of batches to the device, one ahead, or makes the
// one that stays there.
func (b Bench) feed(backend compute.Backend) *feed {
	random := rand.New(rand.NewPCG(2, 0))
	c := b.Model.Config
	mels := make([]float16.Float16, b.Batch*c.Mels*c.Frames())
	for i := range mels {
		mels[i] = float16.FromFloat32(float32(random.NormFloat64() * 0.5))
	}
	labels := make([]int32, b.Batch*b.Labels)
	for i := range labels {
		labels[i] = int32(random.IntN(c.Vocabulary))
	}
	load := func() batch {
		t := batch{
			mels:   tensors.FromFlatDataAndDimensions(mels, b.Batch, c.Mels, c.Frames()),
			labels: tensors.FromFlatDataAndDimensions(labels, b.Batch, b.Labels),
		}
		t.err = t.mels.MaterializeOnDevice(backend, false, 0)
		t.mels.FinalizeLocal()
		return t
	}
	f := &feed{batches: make(chan batch, 1), done: make(chan struct{})}
	if b.Resident {
		fixed := load()
		f.fixed = &fixed
		return f
	}
	go f.fill(load)
	return f
}

func (f *feed) fill(load func() batch) {
	for {
		select {
		case f.batches <- load():
		case <-f.done:
			return
		}
	}
}
