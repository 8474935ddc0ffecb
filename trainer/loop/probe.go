package loop

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
)

// Probe makes one step with a batch, to see whether it fits the device, and
// frees everything: the store's variables too, which a step that fails loses.
// With accumulate it adds up gradients as a step of several batches does. Before
// the step look is given its compiled graphs, for what a backend knows of
// them, and says whether to make it at all; nil always wants it.
func Probe(b compute.Backend, store *model.Store, m Model, o optim.AdamW, batch *Batch, accumulate bool, look func([]compute.Executable) bool) error {
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
	batches, graphs := []*Batch{batch}, []*model.Exec{s.whole}
	if accumulate {
		batches, graphs = append(batches, batch), []*model.Exec{s.part, s.last}
	}
	if look != nil {
		compiled, err := compileAll(graphs, batch)
		if err != nil {
			return fmt.Errorf("a batch of %d clips: %w", batch.Samples, err)
		}
		if !look(compiled) {
			return nil
		}
	}
	if _, err := s.step(batches); err != nil {
		return fmt.Errorf("a batch of %d clips: %w", batch.Samples, err)
	}
	return nil
}

// compileAll compiles graphs for a batch; running them does not do so again.
func compileAll(graphs []*model.Exec, batch *Batch) ([]compute.Executable, error) {
	var inputs []shapes.Shape
	for _, x := range batch.Inputs {
		inputs = append(inputs, x.Shape())
	}
	var compiled []compute.Executable
	for _, e := range graphs {
		g, err := e.Compile(inputs...)
		if err != nil {
			return nil, fmt.Errorf("compile the step for %v: %w", inputs, err)
		}
		compiled = append(compiled, g.Executable())
	}
	return compiled, nil
}

// finalize frees the compiled graphs.
func (s *stepper) finalize() {
	for _, e := range []*model.Exec{s.whole, s.part, s.last} {
		e.Finalize()
	}
}
