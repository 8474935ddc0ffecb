package whisper

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/model"
)

// heads splits the last axis of x: [batch, time, heads, width/heads].
func heads(x *graph.Node, n int) *graph.Node {
	d := x.Shape().Dimensions
	return graph.Reshape(x, d[0], d[1], n, d[2]/n)
}

// keysValues are the projections of x that are attended to.
func (m *Model) keysValues(scope *model.Scope, x *graph.Node, n int) (keys, values *graph.Node) {
	return heads(m.linear(scope.In("k_proj"), x, false), n), heads(m.linear(scope.In("v_proj"), x, true), n)
}

// attend is multi-head attention of x to keys and values [batch, time, heads,
// width/heads]. The mask, broadcast to [batch, heads, x's time, keys' time],
// says which keys count; nil lets all of them.
func (m *Model) attend(scope *model.Scope, x, keys, values, mask *graph.Node) *graph.Node {
	n := keys.Shape().Dim(2)
	queries := heads(m.linear(scope.In("q_proj"), x, true), n)
	var y *graph.Node
	if m.flash(queries, keys, mask) {
		y, _ = attention.Core(queries, keys, values, attention.LayoutBSHD, attention.CoreOptions{})
	} else {
		y = m.softmaxAttention(scope, queries, keys, values, mask)
	}
	return dropout(scope, m.linear(scope.In("out_proj"), graph.Reshape(y, x.Shape().Dimensions...), true), m.Config.Dropout)
}

// flash reports whether the backend's fused attention serves: it needs half
// precision and as many queries as keys, and pays where those are many, in
// the encoder. Its gradient is not the same in every run.
func (m *Model) flash(queries, keys, mask *graph.Node) bool {
	return !m.Deterministic && queries.Graph().Backend().Name() == "xla" && queries.DType().IsHalfPrecision() &&
		mask == nil && m.Config.AttentionDropout == 0 && queries.Shape().Dim(1) == keys.Shape().Dim(1)
}

// softmaxAttention is attention by its definition, with the softmax in float32.
func (m *Model) softmaxAttention(scope *model.Scope, queries, keys, values, mask *graph.Node) *graph.Node {
	queries = graph.MulScalar(queries, 1/math.Sqrt(float64(queries.Shape().Dim(3))))
	byHead := []int{0, 2}
	scores := graph.ConvertDType(product(queries, 3, keys, 3, byHead, byHead), dtypes.Float32)
	if mask != nil {
		low := graph.Const(scores.Graph(), float32(-1e30))
		scores = graph.Where(graph.BroadcastToShape(mask, scores.Shape()), scores, low)
	}
	top := graph.StopGradient(graph.ReduceAndKeep(scores, graph.ReduceMax, -1))
	weights := graph.Exp(graph.Sub(scores, top))
	weights = graph.Div(weights, graph.ReduceAndKeep(weights, graph.ReduceSum, -1))
	weights = dropout(scope, graph.ConvertDType(weights, values.DType()), m.Config.AttentionDropout)
	y := product(weights, 3, values, 1, []int{0, 1}, byHead)
	return graph.TransposeAllAxes(y, 0, 2, 1, 3)
}

// causal is the mask that hides the future: [1, 1, n, n].
func causal(g *graph.Graph, n int) *graph.Node {
	return graph.Reshape(graph.LowerTriangular(g, n), 1, 1, n, n)
}
