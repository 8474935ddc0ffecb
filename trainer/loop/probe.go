package loop

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
)

// Probe makes one step with a batch, to see whether it fits the device, and
// frees everything: the store's variables too, which a step that fails loses.
// With accumulate it adds up gradients as a step of several batches does.
func Probe(b compute.Backend, store *model.Store, m Model, o optim.AdamW, batch *Batch, accumulate bool) error {
	defer store.Finalize()
	s, err := newStepper(b, store, m, o)
	if err != nil {
		return err
	}
	defer s.finalize()
	defer func() {
		for _, x := range batch.Inputs {
			x.MustFinalizeAll()
		}
	}()
	batches := []*Batch{batch}
	if accumulate {
		batches = append(batches, batch)
	}
	if _, err := s.step(batches); err != nil {
		return fmt.Errorf("a batch of %d clips: %w", batch.Samples, err)
	}
	return nil
}

// finalize frees the compiled graphs.
func (s *stepper) finalize() {
	for _, e := range []*model.Exec{s.whole, s.part, s.last} {
		e.Finalize()
	}
}
