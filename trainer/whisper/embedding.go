package whisper

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// tokenTable is the embedding, in float32, so that gradients of frequent tokens are
// summed in float32.
func tokenTable(g *graph.Graph, scope *model.Scope) *graph.Node {
	return value(g, scope.At("embed_tokens"), "weight")
}

// embed adds the tokens' rows of the table and their positions.
func (m *Model) embed(rows, positions *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.Add(rows, graph.ExpandLeftToRank(positions, 3)), m.compute())
}

// lookup gives the rows of the table that tokens [batch, length] name, to be
// trained. The gradient of a gather adds rows up in the order that a GPU comes to
// them, another one every time. To be deterministic it is a product with the
// tokens as rows with a single one instead, which takes a fiftieth more of a step.
func (m *Model) lookup(table, tokens *graph.Node) *graph.Node {
	indices := graph.ExpandAxes(tokens, -1)
	if !m.Deterministic {
		return graph.Gather(table, indices)
	}
	x := graph.Gather(graph.StopGradient(table), indices)
	return graph.Add(x, graph.Reshape(m.trace(table, graph.Reshape(tokens, -1)), x.Shape().Dimensions...))
}

// trace is zeros, a row for each token, whose gradient is that of looking the
// tokens up. A node's own gradient must have its shape, so the zeros are put
// below the table for it, and taken off again: a compiler sees that and copies
// nothing.
func (m *Model) trace(table, tokens *graph.Node) *graph.Node {
	g, n := table.Graph(), tokens.Shape().Size()
	vocabulary, width := table.Shape().Dim(0), table.Shape().Dim(1)
	zeros := graph.Zeros(g, shapes.Make(table.DType(), n, width))
	both := graph.Concatenate([]*graph.Node{table, zeros}, 0)
	both = graph.IdentityWithCustomGradient(both, func(_, v *graph.Node) *graph.Node {
		// Where products are in half precision, the rows' gradient was too.
		rows := graph.ConvertDType(graph.Slice(v, graph.AxisRange(vocabulary)), m.compute())
		ones := graph.OneHot(tokens, vocabulary, m.compute())
		grad := graph.Dot(ones, rows).WithOutputDType(table.DType()).General([]int{0}, nil, []int{0}, nil)
		return graph.Concatenate([]*graph.Node{grad, zeros}, 0)
	})
	return graph.Slice(both, graph.AxisRange(vocabulary))
}
