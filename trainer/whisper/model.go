package whisper

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Ignored is the label that does not count.
const Ignored = -100

// Model builds the graphs of a Whisper whose variables are in the store.
type Model struct {
	Config Config
	// Half computes the matrix products in bfloat16; weights and their updates
	// stay float32.
	Half bool
	// Checkpoint keeps only what enters each layer for the backward pass and
	// computes the rest again: less memory for a third more work.
	Checkpoint bool
	// FreezeEncoder trains the decoder only.
	FreezeEncoder bool
	// Deterministic leaves out what a GPU adds up in another order in every run:
	// fused attention's gradient, and the gradient of looking tokens up.
	Deterministic bool
}

func (m *Model) compute() dtypes.DType {
	if m.Half {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}

// Loss is the sum of the cross entropies of the labels that count, and their
// number. The inputs are mels [batch, mels, frames], float16 or float32, and
// labels int32 [batch, tokens], Ignored where they do not count.
func (m *Model) Loss(scope *model.Scope, inputs []*graph.Node) (sum, count *graph.Node) {
	if len(inputs) != 2 {
		panic(fmt.Errorf("whisper: %d inputs, and mels and labels are needed", len(inputs)))
	}
	mels, labels := inputs[0], inputs[1]
	encoded := m.Encode(scope, mels)
	if m.FreezeEncoder {
		encoded = graph.StopGradient(encoded)
		for v := range scope.At("model").At("encoder").IterVariables() {
			v.SetTrainable(false) // or the optimizer would decay it
		}
	}
	return crossEntropy(m.Decode(scope, encoded, m.shiftRight(labels)), labels)
}

// Encode is the encoder: mels [batch, mels, frames] to [batch, frames/2, width].
func (m *Model) Encode(scope *model.Scope, mels *graph.Node) *graph.Node {
	c := m.Config
	if d := mels.Shape().Dimensions; len(d) != 3 || d[1] != c.Mels || d[2] != c.Frames() {
		panic(fmt.Errorf("whisper: mels of %v: the model takes [batch, %d, %d]", d, c.Mels, c.Frames()))
	}
	g := mels.Graph()
	scope = scope.At("model").At("encoder")
	x := graph.TransposeAllAxes(graph.ConvertDType(mels, m.compute()), 0, 2, 1)
	x = gelu(m.convolution(scope.In("conv1"), x, 1))
	x = gelu(m.convolution(scope.In("conv2"), x, 2))
	positions := scope.In("embed_positions")
	positions.GetVariable("weight").SetTrainable(false) // a saved variable forgets that it is frozen
	x = graph.Add(x, graph.ExpandLeftToRank(m.weight(g, positions, "weight"), 3))
	x = dropout(scope, x, c.Dropout)
	for i := range c.EncoderLayers {
		layer := scope.At("layers").In("%d", i)
		x = m.checkpoint(x)
		self := layer.In("self_attn")
		h := m.norm(layer.In("self_attn_layer_norm"), x)
		keys, values := m.keysValues(self, h, c.EncoderHeads)
		x = graph.Add(x, m.attend(self, h, keys, values, nil))
		x = graph.Add(x, m.feedForward(layer, m.norm(layer.In("final_layer_norm"), x)))
	}
	return m.norm(scope.In("layer_norm"), m.endCheckpoint(x))
}

// Decode is the decoder: encoded speech and tokens int32 [batch, tokens] to
// logits [batch, tokens, vocabulary] in the type of the matrix products.
func (m *Model) Decode(scope *model.Scope, encoded, tokens *graph.Node) *graph.Node {
	c := m.Config
	g, length := tokens.Graph(), tokens.Shape().Dim(1)
	if length > c.MaxTarget {
		panic(fmt.Errorf("whisper: %d tokens: the model takes %d", length, c.MaxTarget))
	}
	scope = scope.At("model").At("decoder")
	positions := graph.Slice(value(g, scope.In("embed_positions"), "weight"), graph.AxisRange(0, length))
	x := dropout(scope, m.embed(m.lookup(tokenTable(g, scope), tokens), positions), c.Dropout)
	mask := causal(g, length)
	for i := range c.DecoderLayers {
		layer := scope.At("layers").In("%d", i)
		x = m.checkpoint(x)
		self, cross := layer.In("self_attn"), layer.In("encoder_attn")
		h := m.norm(layer.In("self_attn_layer_norm"), x)
		keys, values := m.keysValues(self, h, c.DecoderHeads)
		x = graph.Add(x, m.attend(self, h, keys, values, mask))
		h = m.norm(layer.In("encoder_attn_layer_norm"), x)
		keys, values = m.keysValues(cross, encoded, c.DecoderHeads)
		x = graph.Add(x, m.attend(cross, h, keys, values, nil))
		x = graph.Add(x, m.feedForward(layer, m.norm(layer.In("final_layer_norm"), x)))
	}
	return m.logits(scope, m.norm(scope.In("layer_norm"), m.endCheckpoint(x)))
}

// aligned is the multiple of columns that matrix products in half precision like:
// Whisper's vocabularies are odd.
const aligned = 64

// logits projects to the vocabulary with the embedding itself.
func (m *Model) logits(scope *model.Scope, x *graph.Node) *graph.Node {
	g := x.Graph()
	table := m.weight(g, scope.At("embed_tokens"), "weight")
	spare := -m.Config.Vocabulary & (aligned - 1)
	if !m.Half || spare == 0 {
		return product(x, 2, table, 1, nil, nil)
	}
	table = graph.Pad(table, graph.ScalarZero(g, table.DType()), compute.PadAxis{End: spare}, compute.PadAxis{})
	return graph.Slice(product(x, 2, table, 1, nil, nil), graph.AxisRange(), graph.AxisRange(), graph.AxisRange(0, m.Config.Vocabulary))
}

func (m *Model) checkpoint(x *graph.Node) *graph.Node {
	if m.Checkpoint {
		return x.Checkpoint()
	}
	return x
}

func (m *Model) endCheckpoint(x *graph.Node) *graph.Node {
	if m.Checkpoint {
		return x.StopCheckpoint()
	}
	return x
}

// Logits are those of Loss's inputs, in float32.
func (m *Model) Logits(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
	return graph.ConvertDType(m.Decode(scope, m.Encode(scope, mels), m.shiftRight(labels)), dtypes.Float32)
}
