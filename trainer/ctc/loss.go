package ctc

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Blank is the class that stands for no unit. Labels are padded with it.
const Blank = 0

// never is the logarithm of a probability of zero: small enough to vanish, and
// finite, so that no difference of two is NaN.
const never = -1e30

// Loss is -ln p(labels | logits) of every clip, [B] float32, after Graves
// (2006): the probability of all paths that collapse to the labels.
//
// logits are [B, T, V], labels int32 [B, L] padded with Blank; frames and
// lengths, int32 [B], say how many of T and L count. A clip whose labels do not
// fit its frames (see Needs) has no path: it counts zero.
//
// The recursion is unrolled over T, since a loop of the graph has no
// gradient and the Go backend no dynamic slices. It is not differentiated
// either: forward and backward variables run as one batch, and their product is
// the gradient. Both are float64; they are small, and sums over hundreds of
// frames are not for float32.
func Loss(logits, labels, frames, lengths *graph.Node) *graph.Node {
	t := newTrellis(logits, labels, frames, lengths)
	both := graph.Concatenate([]*graph.Node{t.emission, graph.Reverse(t.emission, 0, 2)}, 1)
	start := graph.Concatenate([]*graph.Node{t.first, graph.Reverse(t.last, 1)}, 0)
	skip := graph.Concatenate([]*graph.Node{t.skip, t.shift(graph.Reverse(t.skip, 1), 2)}, 0)
	paths := t.sweep(both, start, skip)
	forward := graph.Slice(paths, graph.AxisRange(), graph.AxisRange(0, t.batch))
	backward := graph.Reverse(graph.Slice(paths, graph.AxisRange(), graph.AxisRange(t.batch)), 0, 2)

	end := graph.Reshape(graph.Slice(forward, graph.AxisElem(t.frames-1)), t.batch, t.states)
	likelihood := logSumExp(graph.Add(end, t.last)) // [B]
	possible := graph.GreaterThan(likelihood, t.constant(never/10, t.batch))

	// The chance of being in a state at a frame, given the labels.
	posterior := graph.Sub(graph.Add(forward, backward), t.emission)
	posterior = graph.Sub(posterior, graph.BroadcastToShape(graph.Reshape(likelihood, 1, t.batch, 1), posterior.Shape()))
	wanted := graph.LogicalAnd(t.live, graph.BroadcastToDims(graph.Reshape(possible, 1, t.batch, 1), t.frames, t.batch, t.states))
	posterior = graph.Where(wanted, graph.Exp(graph.MinScalar(posterior, 0.0)), graph.ZerosLike(posterior))

	// This term is zero; its gradient is that of the loss.
	slope := graph.Neg(graph.ReduceSum(graph.Mul(graph.StopGradient(posterior), t.picked), 0, 2))
	loss := graph.Where(possible, graph.Neg(likelihood), graph.ZerosLike(likelihood))
	loss = graph.Add(graph.StopGradient(loss), graph.Sub(slope, graph.StopGradient(slope)))
	return graph.ConvertDType(loss, dtypes.Float32)
}

// trellis is the lattice of T frames and 2L+1 states: blank, first unit, blank,
// second unit, …, blank. Its tensors are logarithms.
type trellis struct {
	graph                 *graph.Graph
	batch, frames, states int
	picked                *graph.Node // [T,B,S] the log-probability of each state's class
	emission              *graph.Node // [T,B,S] the same where it counts
	live                  *graph.Node // [T,B,S] whether the frame is one of the clip's
	first, last           *graph.Node // [B,S] 0 where a path may begin and end
	skip                  *graph.Node // [B,S] 0 where a path may come from two states before
}

func newTrellis(logits, labels, frames, lengths *graph.Node) *trellis {
	g := logits.Graph()
	units := labels.Shape().Dim(1)
	t := &trellis{graph: g, batch: logits.Shape().Dim(0), frames: logits.Shape().Dim(1), states: 2*units + 1}
	class := t.classes(labels)
	chances := graph.LogSoftmax(graph.ConvertDType(logits, dtypes.Float64), -1)
	t.picked = graph.Einsum("btv,bsv->tbs", chances, graph.OneHot(class, logits.Shape().Dim(2), dtypes.Float64))

	state := graph.Iota(g, shapes.Make(dtypes.Int32, t.batch, t.states), 1)
	final := graph.BroadcastToDims(graph.ExpandAxes(graph.MulScalar(lengths, 2), -1), t.batch, t.states)
	before := graph.LogicalNot(graph.GreaterThan(state, final))
	t.first = t.allow(graph.LogicalAnd(before, graph.LessThan(state, graph.Const(g, int32(2)))))
	t.last = t.allow(graph.LogicalAnd(before, graph.GreaterOrEqual(state, graph.AddScalar(final, -1))))
	other := graph.NotEqual(class, t.shiftClasses(class))
	t.skip = t.allow(graph.LogicalAnd(other, graph.NotEqual(class, graph.ScalarZero(g, dtypes.Int32))))

	// Frames after the clip's end say "blank" for sure, in the final state.
	shape := shapes.Make(dtypes.Int32, t.frames, t.batch, t.states)
	t.live = graph.LessThan(graph.Iota(g, shape, 0), graph.BroadcastToShape(graph.Reshape(frames, 1, t.batch, 1), shape))
	rest := graph.BroadcastToDims(graph.ExpandAxes(t.allow(graph.Equal(state, final)), 0), t.frames, t.batch, t.states)
	inside := graph.BroadcastToDims(graph.ExpandAxes(t.allow(before), 0), t.frames, t.batch, t.states)
	t.emission = graph.StopGradient(graph.Add(graph.Where(t.live, t.picked, rest), inside))
	return t
}

// classes are those of the states, [B,S].
func (t *trellis) classes(labels *graph.Node) *graph.Node {
	units := labels.Shape().Dim(1)
	blank := graph.Zeros(t.graph, shapes.Make(dtypes.Int32, t.batch, units, 1))
	pairs := graph.Reshape(graph.Concatenate([]*graph.Node{blank, graph.ExpandAxes(labels, -1)}, -1), t.batch, 2*units)
	return graph.Concatenate([]*graph.Node{pairs, graph.Zeros(t.graph, shapes.Make(dtypes.Int32, t.batch, 1))}, -1)
}

// shiftClasses gives every state the class of that two before it.
func (t *trellis) shiftClasses(class *graph.Node) *graph.Node {
	none := graph.Zeros(t.graph, shapes.Make(dtypes.Int32, t.batch, min(2, t.states)))
	if t.states <= 2 {
		return none
	}
	return graph.Concatenate([]*graph.Node{none, graph.Slice(class, graph.AxisRange(), graph.AxisRange(0, t.states-2))}, -1)
}

// sweep is the forward recursion over emissions [T,N,S].
func (t *trellis) sweep(emission, start, skip *graph.Node) *graph.Node {
	rows := emission.Shape().Dim(1)
	at := func(frame int) *graph.Node {
		return graph.Reshape(graph.Slice(emission, graph.AxisElem(frame)), rows, t.states)
	}
	state := graph.Add(start, at(0))
	all := []*graph.Node{state}
	for frame := 1; frame < t.frames; frame++ {
		one := t.shift(state, 1)
		two := graph.Add(t.shift(state, 2), skip)
		top := graph.Max(graph.Max(state, one), two)
		sum := graph.Add(graph.Add(graph.Exp(graph.Sub(state, top)), graph.Exp(graph.Sub(one, top))), graph.Exp(graph.Sub(two, top)))
		state = graph.Add(graph.Add(top, graph.Log(sum)), at(frame))
		all = append(all, state)
	}
	return graph.StopGradient(graph.Stack(all, 0))
}

// shift moves every row n states on; what comes in cannot be.
func (t *trellis) shift(x *graph.Node, n int) *graph.Node {
	rows := x.Shape().Dim(0)
	n = min(n, t.states)
	in := t.constant(never, rows, n)
	if n == t.states {
		return in
	}
	return graph.Concatenate([]*graph.Node{in, graph.Slice(x, graph.AxisRange(), graph.AxisRange(0, t.states-n))}, -1)
}

// allow is 0 where ok and never elsewhere.
func (t *trellis) allow(ok *graph.Node) *graph.Node {
	dims := ok.Shape().Dimensions
	return graph.Where(ok, t.constant(0, dims...), t.constant(never, dims...))
}

func (t *trellis) constant(value float64, dims ...int) *graph.Node {
	return graph.FillScalar(t.graph, shapes.Make(dtypes.Float64, dims...), value)
}

func logSumExp(x *graph.Node) *graph.Node {
	top := graph.ReduceAndKeep(x, graph.ReduceMax, -1)
	sum := graph.Log(graph.ReduceSum(graph.Exp(graph.Sub(x, graph.BroadcastToShape(top, x.Shape()))), -1))
	return graph.Add(graph.Squeeze(top, -1), sum)
}
