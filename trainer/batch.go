package trainer

import (
	"sync/atomic"
	"time"
)

// Batch is some clips as one array. It is the caller's until Release.
type Batch struct {
	// Epoch and Step count from 0; Step begins anew in every epoch.
	Epoch, Step int
	// Indices are those of the clips in the epoch's version of the dataset, and
	// Frames their real frames. Pads are their pad values as FP16 bits, for
	// models that pad on the device.
	Indices, Frames []int
	Pads            []uint16
	// Float is the array [len(Indices), Mels, Width], or Half its FP16 bits.
	Float       []float32
	Half        []uint16
	Mels, Width int
	// Wait is how long Next waited for the batch.
	Wait time.Duration
	// Value is what LoaderOptions.Prepare makes of the batch.
	Value any

	v      *version
	begun  time.Time // its reading
	memory memory
	home   *staging
	left   atomic.Int32 // clips that are still to be read
	done   chan struct{}
	err    error // of the first clip that failed; read it after done
	failed atomic.Bool
}

// Len is the number of clips.
func (b *Batch) Len() int { return len(b.Indices) }

// Clip is what the manifest says of clip k of the batch, also after the dataset
// was refreshed.
func (b *Batch) Clip(k int) Clip { return b.v.clip(b.Indices[k]) }

// Release gives the memory back for a later batch: Float and Half must not be
// used any more. A second call does nothing.
func (b *Batch) Release() {
	home := b.home
	if home == nil {
		return
	}
	b.home = nil
	b.Float, b.Half, b.Value = nil, nil, nil
	home.put(b.memory)
	b.memory = nil
}

// read reads clip k into its place.
func (b *Batch) read(k int, a *SpecAugment) {
	var err error
	size, i := b.Mels*b.Width, b.Indices[k]
	if b.Half != nil {
		b.Pads[k], err = readClip(b.v, b.Half[k*size:][:size], i, b.Width, a, b.Epoch)
	} else {
		b.Pads[k], err = readClip(b.v, b.Float[k*size:][:size], i, b.Width, a, b.Epoch)
	}
	if err != nil && b.failed.CompareAndSwap(false, true) {
		b.err = err
	}
}
