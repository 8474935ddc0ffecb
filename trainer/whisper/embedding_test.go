package whisper

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// TestLookupIsGather wants the product in the gradient to be what a gather's
// gradient is, for tokens that are absent, that come once, and that come often.
func TestLookupIsGather(t *testing.T) {
	const vocabulary, width, batch, length = 11, 4, 3, 40
	table := tensors.FromFlatDataAndDimensions(randoms(7, vocabulary*width), vocabulary, width)
	weights := tensors.FromFlatDataAndDimensions(randoms(8, batch*length*width), batch, length, width)
	ids := make([]int32, batch*length)
	for i := range ids {
		ids[i] = int32(i*i) % (vocabulary - 1) // the last never, some often
	}
	ids[5] = vocabulary - 2
	tokens := tensors.FromFlatDataAndDimensions(ids, batch, length)
	b := goBackend(t)
	run := func(deterministic bool) (rows, grad []float32) {
		m := &Model{Half: true, Deterministic: deterministic}
		out := graph.MustNewExec(b, func(table, tokens, weights *graph.Node) []*graph.Node {
			x := m.lookup(table, tokens)
			// As after embed: what comes back was in half precision.
			weights = graph.ConvertDType(graph.ConvertDType(weights, dtypes.BFloat16), dtypes.Float32)
			return []*graph.Node{x, graph.Gradient(graph.ReduceAllSum(graph.Mul(x, weights)), table)[0]}
		}).MustCall(table, tokens, weights)
		return tensors.MustCopyFlatData[float32](out[0]), tensors.MustCopyFlatData[float32](out[1])
	}
	rows, grad := run(true)
	wantRows, wantGrad := run(false)
	for i, want := range wantRows {
		if rows[i] != want {
			t.Fatalf("value %d is %g, want %g", i, rows[i], want)
		}
	}
	for i, want := range wantGrad {
		if far(grad[i], want, 1e-6) {
			t.Errorf("gradient of row %d, column %d is %g, want %g", i/width, i%width, grad[i], want)
		}
	}
}
