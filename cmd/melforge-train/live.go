package main

import (
	"context"
	"slices"
	"sync"

	"github.com/x448/float16"
	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/trainer"
)

// liveLoader gives the batches of a loader with mels that are made now, and
// counts how many of them are those of the dataset.
type liveLoader struct {
	loader *trainer.Loader
	studio *studio
	result *compareMessage
}

// Next takes the order and the room from the loader.
func (l *liveLoader) Next(ctx context.Context) (*trainer.Batch, error) {
	b, err := l.loader.Next(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.studio.jobs)
	for k := range b.Len() {
		group.Go(func() error {
			return l.studio.mel(ctx, b.Clip(k).ID, func(m mel.Mel) {
				same := replace(b, k, m)
				mu.Lock()
				defer mu.Unlock()
				l.result.Mels++
				if same {
					l.result.SameMels++
				}
			})
		})
	}
	if err := group.Wait(); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// State is the loader's.
func (l *liveLoader) State() trainer.State { return l.loader.State() }

// Resume is the loader's.
func (l *liveLoader) Resume(s trainer.State) error { return l.loader.Resume(s) }

// replace puts a mel in the place of clip k, and says whether it was the same.
func replace(b *trainer.Batch, k int, m mel.Mel) (same bool) {
	bits := m.Padded(nil, b.Width)
	if b.Half != nil {
		place := b.Half[k*len(bits):][:len(bits)]
		same = slices.Equal(place, bits)
		copy(place, bits)
		return same
	}
	place := b.Float[k*len(bits):][:len(bits)]
	same = true
	for i, h := range bits {
		x := float16.Frombits(h).Float32()
		same = same && x == place[i]
		place[i] = x
	}
	return same
}
