// Package ctc is a small speech recogniser that learns on a CPU: convolutions
// over mels, and the CTC loss on characters or words.
package ctc

import (
	"encoding/json"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"
)

// Config is the size of a model.
type Config struct {
	Mels   int   `json:"n_mels"`
	Stack  int   `json:"stack"`  // mel frames that become one frame of the model
	Width  int   `json:"width"`  // values in a frame of the model
	Blocks int   `json:"blocks"` // convolutions with a residual
	Kernel int   `json:"kernel"` // frames that a convolution takes, an odd number
	Units  Units `json:"units"`
}

// Default is a size that learns a small vocabulary within a minute on a CPU.
func Default(mels int, units *Units) Config {
	return Config{Mels: mels, Stack: 4, Width: 64, Blocks: 5, Kernel: 3, Units: *units}
}

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	switch {
	case c.Mels < 1 || c.Stack < 1 || c.Width < 1 || c.Blocks < 0:
		return fmt.Errorf("a model of %d mels, stack %d, width %d and %d blocks: want at least one of each", c.Mels, c.Stack, c.Width, c.Blocks)
	case c.Kernel < 1 || c.Kernel%2 == 0:
		return fmt.Errorf("a kernel of %d frames: want an odd number", c.Kernel)
	case len(c.Units.List) == 0:
		return fmt.Errorf("a model without units")
	}
	return nil
}

// Model computes the loss and the transcripts of mels.
type Model struct{ Config Config }

// Fingerprint tells models apart: two with the same can share their weights.
func (m *Model) Fingerprint() string {
	b, err := json.Marshal(m.Config)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return "ctc " + string(b)
}

// Frames is the number of the model's frames for a clip of so many mel frames.
func (c Config) Frames(mels int) int { return (mels + c.Stack - 1) / c.Stack }

// Loss sums the losses of a batch and counts its clips. inputs are mels
// [B, n_mels, T], labels int32 [B, L] padded with Blank, the clips' mel frames
// and their number of labels, both int32 [B].
func (m *Model) Loss(scope *model.Scope, inputs []*graph.Node) (sum, count *graph.Node) {
	mels, labels, frames, lengths := inputs[0], inputs[1], inputs[2], inputs[3]
	losses := Loss(m.Logits(scope, mels, frames), labels, m.frames(frames), lengths)
	return graph.ReduceAllSum(losses), graph.Const(losses.Graph(), float32(losses.Shape().Dim(0)))
}

// Path is the best class of every frame, int32 [B, frames], Blank after a
// clip's end. Collapse makes a transcript of it.
func (m *Model) Path(scope *model.Scope, mels, frames *graph.Node) *graph.Node {
	best := graph.ArgMax(m.Logits(scope, mels, frames), -1, dtypes.Int32)
	live := within(best.Shape(), m.frames(frames))
	return graph.Where(live, best, graph.ZerosLike(best))
}

// frames is Config.Frames in the graph.
func (m *Model) frames(mels *graph.Node) *graph.Node {
	stack := graph.Const(mels.Graph(), int32(m.Config.Stack))
	return graph.Div(graph.AddScalar(mels, m.Config.Stack-1), stack)
}

// dilations are how far apart the frames of a block's convolution are, one block
// after the other. With three frames each, four blocks see more than half a
// second to both sides. Models that see less learn to write letters late, and
// never learn the last ones of a clip that ends with its last sound.
var dilations = [...]int{1, 2, 4, 8}

// Logits are [B, frames, classes]. What comes after a clip's end is zero in
// every layer, so that they do not depend on the padding.
func (m *Model) Logits(scope *model.Scope, mels, frames *graph.Node) *graph.Node {
	c := m.Config
	x := normalize(graph.TransposeAllAxes(graph.ConvertDType(mels, dtypes.Float32), 0, 2, 1), frames)
	x = stack(x, c.Stack)
	live := within(shapes.Make(dtypes.Int32, x.Shape().Dimensions[:2]...), m.frames(frames))
	live = graph.ExpandAxes(graph.ConvertDType(live, dtypes.Float32), -1)
	x = graph.Mul(relu(convolve(scope.In("input"), x, c.Width, 1, 1)), live)
	for i := range c.Blocks {
		apart := dilations[i%len(dilations)]
		block := scope.At("blocks").In("%d", i)
		y := graph.Mul(layerNorm(block.In("layer_norm"), x), live)
		x = graph.Add(x, graph.Mul(relu(convolve(block.In("conv"), y, c.Width, c.Kernel, apart)), live))
	}
	return convolve(scope.In("head"), layerNorm(scope.In("layer_norm"), x), c.Units.Classes(), 1, 1)
}

// normalize brings the real frames of each clip [B,T,M] to mean 0 and
// deviation 1 and the rest to 0, so that any mel configuration will do.
func normalize(x, frames *graph.Node) *graph.Node {
	shape := x.Shape()
	live := within(shapes.Make(dtypes.Int32, shape.Dimensions[:2]...), frames)
	live = graph.BroadcastToDims(graph.ExpandAxes(live, -1), shape.Dimensions...)
	zero := graph.ZerosLike(x)
	values := graph.MaxScalar(graph.MulScalar(graph.ConvertDType(frames, dtypes.Float32), shape.Dim(2)), 1.0)
	mean := func(x *graph.Node) *graph.Node {
		m := graph.Div(graph.ReduceSum(graph.Where(live, x, zero), 1, 2), values)
		return graph.BroadcastToShape(graph.Reshape(m, shape.Dim(0), 1, 1), shape)
	}
	centred := graph.Sub(x, mean(x))
	deviation := graph.Sqrt(graph.AddScalar(mean(graph.Square(centred)), 1e-6))
	return graph.Where(live, graph.Div(centred, deviation), zero)
}

// within is true for the first n[b] of the columns of row b.
func within(shape shapes.Shape, n *graph.Node) *graph.Node {
	column := graph.Iota(n.Graph(), shapes.Make(dtypes.Int32, shape.Dimensions...), 1)
	return graph.LessThan(column, graph.BroadcastToDims(graph.ExpandAxes(n, -1), shape.Dimensions...))
}

// stack makes one frame of every n: [B,T,M] becomes [B,⌈T/n⌉,n·M].
func stack(x *graph.Node, n int) *graph.Node {
	batch, frames, mels := x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	rows := (frames + n - 1) / n
	if more := rows*n - frames; more > 0 {
		x = graph.Pad(x, graph.ScalarZero(x.Graph(), x.DType()), compute.PadAxis{}, compute.PadAxis{End: more}, compute.PadAxis{})
	}
	return graph.Reshape(x, batch, rows, n*mels)
}

// convolve is a convolution over the frames of [B,T,C] that keeps their number,
// as one product of matrices: the Go backend has no faster one. The frames that
// it takes are so many apart.
func convolve(scope *model.Scope, x *graph.Node, width, kernel, apart int) *graph.Node {
	g, frames, in := x.Graph(), x.Shape().Dim(1), x.Shape().Dim(2)
	if kernel > 1 {
		side := kernel / 2 * apart
		padded := graph.Pad(x, graph.ScalarZero(g, x.DType()), compute.PadAxis{}, compute.PadAxis{Start: side, End: side}, compute.PadAxis{})
		views := make([]*graph.Node, kernel)
		for i := range views {
			views[i] = graph.Slice(padded, graph.AxisRange(), graph.AxisRange(i*apart, i*apart+frames))
		}
		x = graph.Concatenate(views, -1)
	}
	weight := scope.VariableWithShape("weight", shapes.Make(dtypes.Float32, kernel*in, width)).NodeValue(g)
	bias := scope.WithInitializer(initializer.Zero).VariableWithShape("bias", shapes.Make(dtypes.Float32, width)).NodeValue(g)
	y := graph.DotGeneral(x, []int{2}, nil, weight, []int{0}, nil)
	return graph.Add(y, graph.ExpandLeftToRank(bias, y.Rank()))
}

func layerNorm(scope *model.Scope, x *graph.Node) *graph.Node {
	g, shape := x.Graph(), shapes.Make(dtypes.Float32, x.Shape().Dim(-1))
	weight := scope.WithInitializer(initializer.One).VariableWithShape("weight", shape).NodeValue(g)
	bias := scope.WithInitializer(initializer.Zero).VariableWithShape("bias", shape).NodeValue(g)
	x = graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, -1))
	x = graph.Div(x, graph.Sqrt(graph.AddScalar(graph.ReduceAndKeep(graph.Square(x), graph.ReduceMean, -1), 1e-5)))
	return graph.Add(graph.Mul(x, graph.ExpandLeftToRank(weight, x.Rank())), graph.ExpandLeftToRank(bias, x.Rank()))
}

func relu(x *graph.Node) *graph.Node { return graph.Max(x, graph.ScalarZero(x.Graph(), x.DType())) }
