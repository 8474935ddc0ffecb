// Package optim updates the weights of a model as torch and transformers do:
// AdamW with decoupled decay and groups without it, a schedule with a warm-up,
// and clipping by the global norm.
//
// Everything that an update depends on is a variable of the store, under
// Scope: a run that goes on from saved variables makes the identical updates.
package optim

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"
)

// Scope holds the optimizer's variables: /optim/m and /optim/v, the moments of
// all trained values in the order of their variables' paths, and /optim/step,
// which counts the updates.
//
// The moments are two long vectors and not two tensors for every weight: a
// backend pays for each buffer and each kernel at every step, and a Whisper
// has hundreds of weights.
const Scope = "/optim"

const (
	stepName   = Scope + "/step"
	firstName  = Scope + "/m"
	secondName = Scope + "/v"
)

// AdamW is torch.optim.AdamW after torch.nn.utils.clip_grad_norm_.
type AdamW struct {
	Schedule Schedule
	Beta1    float64
	Beta2    float64
	Epsilon  float64
	Decay    float64
	Clip     float64                // the largest global norm, 0 for no clipping
	NoDecay  func(path string) bool // the variables that Decay spares
}

// New is AdamW with the defaults of Hugging Face's TrainingArguments: betas of
// 0.9 and 0.999, epsilon 1e-8, no decay, gradients clipped to a norm of 1.
func New(schedule Schedule) AdamW {
	return AdamW{Schedule: schedule, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Clip: 1, NoDecay: BiasOrNorm}
}

var biasOrNorm = regexp.MustCompile(`bias|layernorm|rmsnorm|(?:^|\.)norm(?:$|\.)|_norm(?:$|\.)`)

// BiasOrNorm reports whether path names a bias or a normalisation: the names
// that Hugging Face's Trainer keeps from decaying.
func BiasOrNorm(path string) bool {
	return biasOrNorm.MatchString(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."))
}

// Report is what one update says of itself, as scalars of the graph.
type Report struct {
	Rate *graph.Node // the learning rate, float32
	Norm *graph.Node // the global norm before clipping, float32
}

// Variables are the trainable variables under scope that g uses, by path. Call
// it after the loss is built and before Update.
func Variables(scope *model.Scope, g *graph.Graph) []*model.Variable {
	var vars []*model.Variable
	for v := range scope.IterVariables() {
		if v.Trainable && v.InUseByGraph(g) {
			vars = append(vars, v)
		}
	}
	slices.SortFunc(vars, func(a, b *model.Variable) int { return strings.Compare(a.Path(), b.Path()) })
	return vars
}

// Gradients are those of loss by vars, in their order.
func Gradients(loss *graph.Node, vars []*model.Variable) []*graph.Node {
	values := make([]*graph.Node, len(vars))
	for i, v := range vars {
		values[i] = v.NodeValue(loss)
	}
	return graph.Gradient(loss, values...)
}

// Update sets vars to their values after one update by grads, which are those
// of the mean loss: whoever accumulates micro-batches divides before. The
// variables must be the same, in the same order, at every update.
//
//	m ← β₁m + (1-β₁)g    v ← β₂v + (1-β₂)g²
//	x ← x·(1-ηλ) - η/(1-β₁ᵗ) · m / (√v/√(1-β₂ᵗ) + ε)
func (o AdamW) Update(store *model.Store, vars []*model.Variable, grads []*graph.Node) Report {
	if len(vars) == 0 || len(vars) != len(grads) {
		panic(errors.New("optim: as many gradients as variables, and at least one, are needed"))
	}
	grad := flatten(grads)
	g := grad.Graph()
	norm := graph.Sqrt(graph.ReduceAllSum(graph.Square(grad)))
	if o.Clip > 0 {
		grad = graph.Mul(grad, graph.MinScalar(graph.Div(graph.Const(g, float32(o.Clip)), graph.AddScalar(norm, 1e-6)), 1.0))
	}
	k := o.factors(store, g)
	first, m := moment(store, firstName, grad)
	second, v := moment(store, secondName, grad)
	m = graph.Add(m, graph.MulScalar(graph.Sub(grad, m), 1-o.Beta1))
	v = graph.Add(graph.MulScalar(v, o.Beta2), graph.MulScalar(graph.Square(grad), 1-o.Beta2))
	first.SetNodeValue(m)
	second.SetNodeValue(v)
	change := graph.Mul(graph.Div(m, graph.AddScalar(graph.Div(graph.Sqrt(v), k.root), o.Epsilon)), k.step)

	begin := 0
	for _, w := range vars {
		x, end := w.NodeValue(g), begin+w.Shape().Size()
		if o.Decay > 0 && (o.NoDecay == nil || !o.NoDecay(w.Path())) {
			x = graph.Mul(x, graph.OneMinus(graph.MulScalar(k.rate, o.Decay)))
		}
		part := graph.Reshape(graph.Slice(change, graph.AxisRange(begin, end)), w.Shape().Dimensions...)
		w.SetNodeValue(graph.Sub(x, part))
		begin = end
	}
	return Report{Rate: k.rate, Norm: norm}
}

// flatten puts the gradients one after the other, in float32.
func flatten(grads []*graph.Node) *graph.Node {
	flat := make([]*graph.Node, len(grads))
	for i, grad := range grads {
		flat[i] = graph.Reshape(graph.ConvertDType(grad, dtypes.Float32), grad.Shape().Size())
	}
	return graph.Concatenate(flat, 0)
}

// moment is a moving average of the flat gradient, at first zero.
func moment(store *model.Store, name string, grad *graph.Node) (*model.Variable, *graph.Node) {
	v := store.VariableWithShape(name, grad.Shape(), initializer.Zero).SetTrainable(false)
	return v, v.NodeValue(grad)
}

// factors are the scalars of one update, which all variables share.
type factors struct{ rate, step, root *graph.Node }

// factors counts the update. The scalars are computed in float64, as torch
// does: 1-0.999 has only four good digits in float32.
func (o AdamW) factors(store *model.Store, g *graph.Graph) factors {
	counter := store.VariableWithValue(stepName, int64(0)).SetTrainable(false)
	done := counter.NodeValue(g)
	next := graph.OnePlus(done)
	counter.SetNodeValue(next)
	t := graph.ConvertDType(next, dtypes.Float64)
	rate := o.Schedule.node(graph.ConvertDType(done, dtypes.Float64))
	unbias := func(beta float64) *graph.Node { return graph.OneMinus(graph.Pow(graph.Const(g, beta), t)) }
	single := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }
	return factors{
		rate: single(rate),
		step: single(graph.Div(rate, unbias(o.Beta1))),
		root: single(graph.Sqrt(unbias(o.Beta2))),
	}
}
