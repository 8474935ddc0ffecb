package whisper

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// Rules are those of transformers' generate for Whisper, without timestamps.
type Rules struct {
	Prompt        []int32 // start, language, task, no timestamps
	Suppress      []int32 // tokens never chosen
	SuppressFirst []int32 // tokens not chosen right after the prompt
	End           int32   // the token that ends a transcript
	MaxLength     int     // of a transcript, with its prompt
}

// Greedy transcribes by always taking the likeliest token. The keys and values
// of speech are computed once, those of tokens are kept from step to step.
type Greedy struct {
	model  Model
	rules  Rules
	listen *model.Exec // mels to the keys and values of every decoder layer
	speak  *model.Exec // a token at a position to the next, and the kept keys and values
}

// NewGreedy prepares decoding with the model in the store.
func NewGreedy(backend compute.Backend, store *model.Store, m Model, rules Rules) (*Greedy, error) {
	if len(rules.Prompt) == 0 || rules.MaxLength <= len(rules.Prompt) || rules.MaxLength > m.Config.MaxTarget {
		return nil, fmt.Errorf("decoding to %d tokens after a prompt of %d: it must be more, and at most %d", rules.MaxLength, len(rules.Prompt), m.Config.MaxTarget)
	}
	m.Checkpoint = false
	d := &Greedy{model: m, rules: rules}
	var err error
	if d.listen, err = model.NewExec(backend, store, d.listenGraph); err != nil {
		return nil, err
	}
	if d.speak, err = model.NewExec(backend, store, d.speakGraph); err != nil {
		return nil, err
	}
	return d, nil
}

// Finalize frees the compiled graphs.
func (d *Greedy) Finalize() {
	d.listen.Finalize()
	d.speak.Finalize()
}

// Transcribe returns the tokens of each clip of mels [batch, mels, frames]
// after the prompt and before the end.
func (d *Greedy) Transcribe(mels *tensors.Tensor) ([][]int32, error) {
	batch := mels.Shape().Dim(0)
	speech, err := d.listen.Call(mels)
	if err != nil {
		return nil, err
	}
	defer finalize(speech)
	kept := d.silence(batch)
	defer func() { finalize(kept) }()
	out := make([][]int32, batch)
	ended := make([]bool, batch)
	tokens := make([]int32, batch)
	for position := range d.rules.MaxLength - 1 {
		if position < len(d.rules.Prompt) {
			for i := range tokens {
				tokens[i] = d.rules.Prompt[position]
			}
		}
		args := []any{slices.Clone(tokens), int32(position)}
		for _, t := range slices.Concat(speech, kept) {
			args = append(args, t)
		}
		next, err := d.speak.Call(args...)
		if err != nil {
			return nil, err
		}
		finalize(kept)
		kept = next[1:]
		if position < len(d.rules.Prompt)-1 {
			continue
		}
		if tokens, err = tensors.CopyFlatData[int32](next[0]); err != nil {
			return nil, err
		}
		if d.take(out, ended, tokens) {
			break
		}
	}
	return out, nil
}

// take appends the new tokens to the clips that have not ended, and reports
// whether all have.
func (d *Greedy) take(out [][]int32, ended []bool, tokens []int32) bool {
	for i, t := range tokens {
		ended[i] = ended[i] || t == d.rules.End
		if !ended[i] {
			out[i] = append(out[i], t)
		}
	}
	return !slices.Contains(ended, false)
}

// silence is what is kept before the first token: zeros, behind the mask.
func (d *Greedy) silence(batch int) []*tensors.Tensor {
	c := d.model.Config
	shape := shapes.Make(d.model.compute(), batch, d.rules.MaxLength, c.DecoderHeads, c.Width/c.DecoderHeads)
	kept := make([]*tensors.Tensor, 2*c.DecoderLayers)
	for i := range kept {
		kept[i] = tensors.FromShape(shape)
	}
	return kept
}

func (d *Greedy) listenGraph(scope *model.Scope, mels *graph.Node) []*graph.Node {
	encoded := d.model.Encode(scope, mels)
	var speech []*graph.Node
	for i := range d.model.Config.DecoderLayers {
		cross := scope.At("model").At("decoder").At("layers").At("%d", i).At("encoder_attn")
		keys, values := d.model.keysValues(cross, encoded, d.model.Config.DecoderHeads)
		speech = append(speech, keys, values)
	}
	return speech
}

// speakGraph takes tokens [batch], their position, the keys and values of the
// speech and those kept of earlier tokens.
func (d *Greedy) speakGraph(scope *model.Scope, inputs []*graph.Node) []*graph.Node {
	m, c := &d.model, d.model.Config
	tokens, position := inputs[0], inputs[1]
	speech, kept := inputs[2:2+2*c.DecoderLayers], inputs[2+2*c.DecoderLayers:]
	g := tokens.Graph()
	scope = scope.At("model").At("decoder")
	where := graph.Gather(value(g, scope.At("embed_positions"), "weight"), graph.Reshape(position, 1, 1))
	x := m.embed(graph.Gather(tokenTable(g, scope), graph.Reshape(tokens, -1, 1, 1)), where)
	times := graph.Iota(g, shapes.Make(dtypes.Int32, 1, 1, 1, d.rules.MaxLength), 3)
	past := graph.LessOrEqual(times, position)
	now := graph.Reshape(graph.Equal(times, position), 1, d.rules.MaxLength, 1, 1)
	keep := func(old, fresh *graph.Node) *graph.Node {
		return graph.Where(graph.BroadcastToShape(now, old.Shape()), graph.BroadcastToShape(fresh, old.Shape()), old)
	}
	out := make([]*graph.Node, 1+len(kept))
	for i := range c.DecoderLayers {
		layer := scope.At("layers").At("%d", i)
		h := m.norm(layer.At("self_attn_layer_norm"), x)
		keys, values := m.keysValues(layer.At("self_attn"), h, c.DecoderHeads)
		keys, values = keep(kept[2*i], keys), keep(kept[2*i+1], values)
		out[1+2*i], out[2+2*i] = keys, values
		x = graph.Add(x, m.attend(layer.At("self_attn"), h, keys, values, past))
		h = m.norm(layer.At("encoder_attn_layer_norm"), x)
		x = graph.Add(x, m.attend(layer.At("encoder_attn"), h, speech[2*i], speech[2*i+1], nil))
		x = graph.Add(x, m.feedForward(layer, m.norm(layer.At("final_layer_norm"), x)))
	}
	logits := graph.Reshape(m.logits(scope, m.norm(scope.At("layer_norm"), x)), tokens.Shape().Dim(0), c.Vocabulary)
	logits = graph.Where(graph.BroadcastToDims(d.allowed(position), logits.Shape().Dimensions...), graph.ConvertDType(logits, dtypes.Float32), graph.Const(g, float32(-1e30)))
	out[0] = graph.ArgMax(logits, -1, dtypes.Int32)
	return out
}

// allowed masks the vocabulary: [1, vocabulary].
func (d *Greedy) allowed(position *graph.Node) *graph.Node {
	g := position.Graph()
	always, first := make([]bool, d.model.Config.Vocabulary), make([]bool, d.model.Config.Vocabulary)
	for i := range always {
		always[i], first[i] = true, true
	}
	for _, t := range d.rules.Suppress {
		always[t], first[t] = false, false
	}
	for _, t := range d.rules.SuppressFirst {
		first[t] = false
	}
	atFirst := graph.Equal(position, graph.Const(g, int32(len(d.rules.Prompt)-1)))
	return graph.ExpandAxes(graph.Where(atFirst, graph.Const(g, first), graph.Const(g, always)), 0)
}

func finalize(ts []*tensors.Tensor) {
	for _, t := range ts {
		t.MustFinalizeAll()
	}
}
