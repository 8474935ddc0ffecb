package loop

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"

	"github.com/melforge/melforge/trainer/optim"
)

// Model is what the loop trains.
type Model interface {
	// Loss gives the sum of the losses of a batch and what to divide it by,
	// apart, so that micro-batches can be added up exactly.
	Loss(scope *model.Scope, inputs []*graph.Node) (sum, count *graph.Node)
}

// accumulated is the scope of gradients that wait for their step. It is empty
// whenever a checkpoint is written, so it is not part of one.
const accumulated = "/loop/accumulated"

// maxShapes bounds the compiled graphs that are kept, one a shape of inputs.
const maxShapes = 128

// stepper runs the graphs of a step. A step of one batch is one graph; one of
// several micro-batches is one graph that adds up gradients, run for all but
// the last, and one that adds the last, divides, and updates.
type stepper struct {
	backend compute.Backend
	model   Model
	optim   optim.AdamW
	store   *model.Store

	whole, part, last *model.Exec
	compiled          map[string]bool
	spent             spent
}

// spent is the time so far on new shapes, and on the device.
type spent struct{ compile, device time.Duration }

func newStepper(b compute.Backend, store *model.Store, m Model, o optim.AdamW) (*stepper, error) {
	s := &stepper{backend: b, model: m, optim: o, store: store, compiled: map[string]bool{}}
	var err error
	make := func(f func(*model.Scope, []*graph.Node) *graph.Node) *model.Exec {
		e, failed := model.NewExec(b, store, f)
		if failed != nil {
			err = failed
			return nil
		}
		return e.SetMaxCache(maxShapes)
	}
	s.whole, s.part, s.last = make(s.wholeGraph), make(s.partGraph), make(s.lastGraph)
	return s, err
}

// outcome is what a step says of itself.
type outcome struct {
	Loss, Rate, Norm float64
	Count            float64
}

// step trains on micro-batches and waits for the device.
func (s *stepper) step(batches []*Batch) (o outcome, err error) {
	name, exec, last := "whole", s.whole, batches[len(batches)-1]
	if len(batches) > 1 {
		name, exec = "last", s.last
	}
	for _, b := range batches[:len(batches)-1] {
		sums, err := s.call("part", s.part, b)
		if err != nil {
			return o, err
		}
		if err := sums.FinalizeAll(); err != nil { // the last has them too
			return o, err
		}
	}
	out, err := s.call(name, exec, last)
	if err != nil {
		return o, err
	}
	values, err := tensors.CopyFlatData[float32](out)
	if err != nil {
		return o, fmt.Errorf("read the loss: %w", err)
	}
	if err := out.FinalizeAll(); err != nil {
		return o, err
	}
	return outcome{
		Loss: float64(values[0]) / float64(values[1]), Count: float64(values[1]), Rate: float64(values[2]), Norm: float64(values[3]),
	}, nil
}

// call prepares for new shapes, apart and timed, and runs.
func (s *stepper) call(name string, e *model.Exec, b *Batch) (*tensors.Tensor, error) {
	var all []shapes.Shape
	for _, x := range b.Inputs {
		all = append(all, x.Shape())
	}
	start := time.Now()
	if key := fmt.Sprint(name, all); !s.compiled[key] {
		if err := s.prepare(e, all); err != nil {
			return nil, err
		}
		s.compiled[key] = true
		s.spent.compile += time.Since(start)
		start = time.Now()
	}
	out, err := e.Call(b.Inputs)
	if err != nil {
		return nil, fmt.Errorf("run the step: %w", err)
	}
	s.spent.device += time.Since(start)
	return out[0], nil
}

// prepare compiles for shapes that are new, and then brings the variables to the
// device, which would otherwise make the first step look slow.
func (s *stepper) prepare(e *model.Exec, inputs []shapes.Shape) error {
	if _, err := e.Compile(inputs...); err != nil {
		return fmt.Errorf("compile the step for %v: %w", inputs, err)
	}
	if err := s.store.InitializeVariables(s.backend, nil); err != nil {
		return err
	}
	if s.backend.HasSharedBuffers() {
		return nil // they are there
	}
	for v := range s.store.IterVariables() {
		value, err := v.Value()
		if err != nil {
			return err
		}
		if err := value.MaterializeOnDevice(s.backend, false, 0); err != nil {
			return fmt.Errorf("copy %s to the device: %w", v.Path(), err)
		}
	}
	return nil
}

func (s *stepper) wholeGraph(scope *model.Scope, inputs []*graph.Node) *graph.Node {
	scope.Store().SetTraining(inputs[0].Graph(), true)
	sum, count := s.model.Loss(scope, inputs)
	vars := optim.Variables(scope, sum.Graph())
	report := s.optim.Update(scope.Store(), vars, optim.Gradients(mean(sum, count), vars))
	return row(sum, count, report.Rate, report.Norm)
}

func (s *stepper) partGraph(scope *model.Scope, inputs []*graph.Node) *graph.Node {
	t := s.tally(scope, inputs)
	for i, v := range t.sums {
		v.SetNodeValue(t.values[i])
	}
	return row(t.values[0], t.values[1])
}

func (s *stepper) lastGraph(scope *model.Scope, inputs []*graph.Node) *graph.Node {
	t := s.tally(scope, inputs)
	sum, count := t.values[0], t.values[1]
	grads := make([]*graph.Node, len(t.vars))
	for i := range grads {
		grads[i] = mean(t.values[2+i], count)
	}
	for _, v := range t.sums {
		v.SetNodeValue(graph.Zeros(sum.Graph(), v.Shape()))
	}
	report := s.optim.Update(scope.Store(), t.vars, grads)
	return row(sum, count, report.Rate, report.Norm)
}

// tally is a micro-batch added to those before it.
type tally struct {
	vars   []*model.Variable // the model's
	sums   []*model.Variable // of losses, counts and the gradients of vars
	values []*graph.Node     // what sums become
}

func (s *stepper) tally(scope *model.Scope, inputs []*graph.Node) tally {
	g := inputs[0].Graph()
	scope.Store().SetTraining(g, true)
	sum, count := s.model.Loss(scope, inputs)
	t := tally{vars: optim.Variables(scope, g)}
	add := func(path string, x *graph.Node) {
		x = graph.ConvertDType(x, dtypes.Float32)
		v := scope.Store().VariableWithShape(accumulated+path, x.Shape(), initializer.Zero).SetTrainable(false)
		t.sums = append(t.sums, v)
		t.values = append(t.values, graph.Add(v.NodeValue(g), x))
	}
	add("/#sum", sum)
	add("/#count", count)
	for i, grad := range optim.Gradients(sum, t.vars) {
		add(t.vars[i].Path(), grad)
	}
	return t
}

// mean divides by the count, which is zero where a batch has nothing to learn.
func mean(x, count *graph.Node) *graph.Node {
	count = graph.MaxScalar(graph.ConvertDType(count, x.DType()), 1.0)
	return graph.Div(x, count)
}

// row puts scalars into one tensor: one transfer instead of several.
func row(scalars ...*graph.Node) *graph.Node {
	for i, x := range scalars {
		scalars[i] = graph.Reshape(graph.ConvertDType(x, dtypes.Float32), 1)
	}
	return graph.Concatenate(scalars, 0)
}

// check refuses a loss that is no number: nothing after it would mean anything.
func (o outcome) check(step int) error {
	if math.IsNaN(o.Loss) || math.IsInf(o.Loss, 0) {
		return fmt.Errorf("step %d: the loss is %v: use a smaller learning rate, a longer warm-up, or --clip", step, o.Loss)
	}
	return nil
}

// OutOfMemory reports whether err says that a device had no room.
func OutOfMemory(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, sign := range []string{"resource_exhausted", "resource exhausted", "out of memory", "cuda_error_out_of_memory"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
