package whisper

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// shiftRight makes the decoder's inputs from labels, as transformers does: the
// start token first, the padding token where a label is ignored.
func (m *Model) shiftRight(labels *graph.Node) *graph.Node {
	g := labels.Graph()
	batch, length := labels.Shape().Dim(0), labels.Shape().Dim(1)
	start := graph.BroadcastToDims(graph.Const(g, int32(m.Config.StartToken)), batch, 1)
	tokens := graph.Concatenate([]*graph.Node{start, graph.Slice(labels, graph.AxisRange(), graph.AxisRange(0, length-1))}, 1)
	ignored := graph.Equal(tokens, graph.Const(g, int32(Ignored)))
	return graph.Where(ignored, graph.Const(g, int32(m.Config.PadToken)), tokens)
}

// crossEntropy is torch's of logits [batch, tokens, vocabulary], summed over the
// labels that count, and their number: Σ log Σ exp(logits) - logits[label].
// It is computed in float32. The label's logit is picked by a mask, which a
// compiler fuses into the sum over the vocabulary, where a gather would have
// a gradient as large as the logits.
func crossEntropy(logits, labels *graph.Node) (sum, count *graph.Node) {
	g := logits.Graph()
	counts := graph.NotEqual(labels, graph.Const(g, int32(Ignored)))
	f := graph.ConvertDType(logits, dtypes.Float32)
	top := graph.StopGradient(graph.ReduceAndKeep(f, graph.ReduceMax, -1))
	total := graph.Log(graph.ReduceSum(graph.Exp(graph.Sub(f, top)), -1))
	class := graph.Iota(g, shapes.Make(dtypes.Int32, f.Shape().Dimensions...), -1)
	label := graph.BroadcastToShape(graph.ExpandAxes(labels, -1), class.Shape())
	picked := graph.ReduceSum(graph.Where(graph.Equal(class, label), graph.Sub(f, top), graph.ZerosLike(f)), -1)
	losses := graph.Where(counts, graph.Sub(total, picked), graph.ZerosLike(total))
	return graph.ReduceAllSum(losses), graph.ReduceAllSum(graph.ConvertDType(counts, dtypes.Float32))
}
