package whisper

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
)

// normEpsilon is that of torch.nn.LayerNorm.
const normEpsilon = 1e-5

// value is a variable of the model in float32. The variables exist before the
// graph does: a name that is not there is a mistake of this package.
func value(g *graph.Graph, scope *model.Scope, name string) *graph.Node {
	v := scope.GetVariable(name)
	if v == nil {
		panic(fmt.Errorf("whisper: the store has no %s/%s: load or randomize the model first", scope.Scope(), name))
	}
	return v.NodeValue(g)
}

// weight is a variable in the type of the matrix products.
func (m *Model) weight(g *graph.Graph, scope *model.Scope, name string) *graph.Node {
	return graph.ConvertDType(value(g, scope, name), m.compute())
}

// product contracts axis a of x with axis b of y, for each index of the batch
// axes. It accumulates in float32 on every backend, and unlike graph.Dot's default
// leaves the gradient's products in the type of x too: those of bfloat16 are
// twice as fast as those of its float32 copies.
func product(x *graph.Node, a int, y *graph.Node, b int, batchX, batchY []int) *graph.Node {
	return graph.Dot(x, y).WithAccumulatorDType(dtypes.InvalidDType).General([]int{a}, batchX, []int{b}, batchY)
}

// linear is torch.nn.Linear: x·Wᵀ + b.
func (m *Model) linear(scope *model.Scope, x *graph.Node, bias bool) *graph.Node {
	y := product(x, x.Rank()-1, m.weight(x.Graph(), scope, "weight"), 1, nil, nil)
	if bias {
		y = m.addBias(scope, y)
	}
	return y
}

// addBias spreads the bias in float32, so that its gradient is summed in float32:
// over a hundred thousand frames, bfloat16 would lose most of it. The barrier
// makes that sum read the rounded gradient, which is there for the products:
// a compiler would otherwise write it a second time in float32.
func (m *Model) addBias(scope *model.Scope, y *graph.Node) *graph.Node {
	b := graph.ExpandLeftToRank(value(y.Graph(), scope, "bias"), y.Rank())
	b = graph.BroadcastToDims(b, y.Shape().Dimensions...)
	y = graph.Add(y, graph.ConvertDType(b, y.DType()))
	return graph.IdentityWithCustomGradient(y, func(_, v *graph.Node) *graph.Node { return graph.OptimizationBarrier(v) })
}

// norm is torch.nn.LayerNorm over the last axis, computed in float32.
func (m *Model) norm(scope *model.Scope, x *graph.Node) *graph.Node {
	g := x.Graph()
	f := graph.ConvertDType(x, dtypes.Float32)
	centred := graph.Sub(f, graph.ReduceAndKeep(f, graph.ReduceMean, -1))
	variance := graph.ReduceAndKeep(graph.Square(centred), graph.ReduceMean, -1)
	y := graph.Div(centred, graph.Sqrt(graph.AddScalar(variance, normEpsilon)))
	y = graph.Mul(y, graph.ExpandLeftToRank(value(g, scope, "weight"), y.Rank()))
	y = graph.Add(y, graph.ExpandLeftToRank(value(g, scope, "bias"), y.Rank()))
	return graph.ConvertDType(y, x.DType())
}

// gelu is the exact one, x·Φ(x), computed in float32.
func gelu(x *graph.Node) *graph.Node {
	f := graph.ConvertDType(x, dtypes.Float32)
	f = graph.Mul(graph.MulScalar(f, 0.5), graph.OnePlus(graph.Erf(graph.MulScalar(f, 1/math.Sqrt2))))
	return graph.ConvertDType(f, x.DType())
}

// feedForward is the second half of every layer.
func (m *Model) feedForward(scope *model.Scope, x *graph.Node) *graph.Node {
	x = gelu(m.linear(scope.In("fc1"), x, true))
	x = dropout(scope, x, m.Config.ActivationDropout)
	return dropout(scope, m.linear(scope.In("fc2"), x, true), m.Config.Dropout)
}

// dropout does nothing unless the graph trains.
func dropout(scope *model.Scope, x *graph.Node, rate float64) *graph.Node {
	if rate == 0 {
		return x
	}
	return layers.DropoutStatic(scope, x, rate)
}

// convolution is torch.nn.Conv1d with a kernel of 3 and a padding of 1, over
// x [batch, time, channels]: one product with the three taps side by side. The
// Go backend's own convolution is slow, and a GPU spends as little on it.
func (m *Model) convolution(scope *model.Scope, x *graph.Node, stride int) *graph.Node {
	g := x.Graph()
	batch, time, channels := x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	zero := graph.ScalarZero(g, x.DType())
	x = graph.Pad(x, zero, compute.PadAxis{}, compute.PadAxis{Start: 1, End: 1}, compute.PadAxis{})
	var taps []*graph.Node
	if stride == 1 {
		for k := range 3 {
			taps = append(taps, graph.Slice(x, graph.AxisRange(), graph.AxisRange(k, k+time)))
		}
	} else {
		// Rows 2t and 2t+1 lie side by side; the third tap is the next pair's first.
		pairs := graph.Reshape(x, batch, time/2+1, 2*channels)
		taps = []*graph.Node{
			graph.Slice(pairs, graph.AxisRange(), graph.AxisRange(0, time/2)),
			graph.Slice(pairs, graph.AxisRange(), graph.AxisRange(1, time/2+1), graph.AxisRange(0, channels)),
		}
	}
	w := m.weight(g, scope, "weight")
	out := w.Shape().Dim(0)
	w = graph.Reshape(graph.TransposeAllAxes(w, 0, 2, 1), out, 3*channels)
	return m.addBias(scope, product(graph.Concatenate(taps, -1), 2, w, 1, nil, nil))
}
