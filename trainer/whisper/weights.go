package whisper

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

const positionsName = "model.encoder.embed_positions.weight"

// Shapes are the tensors of the model by Hugging Face's names. The projection
// to the vocabulary is the transposed embedding, so it is not among them.
func (c Config) Shapes() map[string][]int {
	s := table{c: c, all: map[string][]int{}}
	for i, in := range []int{c.Mels, c.Width} {
		name := fmt.Sprintf("model.encoder.conv%d", i+1)
		s.all[name+".weight"] = []int{c.Width, in, 3}
		s.all[name+".bias"] = []int{c.Width}
	}
	s.all[positionsName] = []int{c.MaxSource, c.Width}
	s.all["model.decoder.embed_tokens.weight"] = []int{c.Vocabulary, c.Width}
	s.all["model.decoder.embed_positions.weight"] = []int{c.MaxTarget, c.Width}
	for i := range c.EncoderLayers {
		s.layer(fmt.Sprintf("model.encoder.layers.%d", i), c.EncoderFFN)
	}
	for i := range c.DecoderLayers {
		name := fmt.Sprintf("model.decoder.layers.%d", i)
		s.layer(name, c.DecoderFFN)
		s.attention(name + ".encoder_attn")
	}
	s.norm("model.encoder.layer_norm")
	s.norm("model.decoder.layer_norm")
	return s.all
}

type table struct {
	c   Config
	all map[string][]int
}

func (s table) layer(name string, ffn int) {
	s.attention(name + ".self_attn")
	s.linear(name+".fc1", ffn, s.c.Width)
	s.linear(name+".fc2", s.c.Width, ffn)
	s.norm(name + ".final_layer_norm")
}

func (s table) attention(name string) {
	for _, p := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
		s.linear(name+"."+p, s.c.Width, s.c.Width)
	}
	delete(s.all, name+".k_proj.bias") // keys have none
	s.norm(name + "_layer_norm")
}

func (s table) linear(name string, out, in int) {
	s.all[name+".weight"] = []int{out, in}
	s.all[name+".bias"] = []int{out}
}

func (s table) norm(name string) {
	s.all[name+".weight"] = []int{s.c.Width}
	s.all[name+".bias"] = []int{s.c.Width}
}

// Parameters is the number of values in the model.
func (c Config) Parameters() int {
	n := 0
	for _, shape := range c.Shapes() {
		n += size(shape)
	}
	return n
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Path is where the store holds the tensor that Hugging Face calls name.
func Path(name string) string { return "/" + strings.ReplaceAll(name, ".", "/") }

// Set puts a tensor of the model into the store, which keeps the values.
func (c Config) Set(store *model.Store, name string, values []float32) error {
	shape, ok := c.Shapes()[name]
	if !ok {
		return fmt.Errorf("%s is no tensor of this Whisper", name)
	}
	return set(store, name, shape, values)
}

func set(store *model.Store, name string, shape []int, values []float32) error {
	if len(values) != size(shape) {
		return fmt.Errorf("%s has %d values and needs %v", name, len(values), shape)
	}
	value := tensors.FromFlatDataAndDimensions(values, shape...)
	v := store.GetVariable(Path(name))
	if v == nil {
		var err error
		if v, err = store.CreateVariable(Path(name), value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	} else if err := v.SetValue(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	v.SetTrainable(name != positionsName)
	return nil
}

// Get copies a tensor of the model out of the store.
func Get(store *model.Store, name string) ([]float32, error) {
	v := store.GetVariable(Path(name))
	if v == nil || !v.HasValue() {
		return nil, fmt.Errorf("the model has no %s", name)
	}
	value, err := v.Value()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	values, err := tensors.CopyFlatData[float32](value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return values, nil
}

// Randomize fills the store with a new model, the same for the same seed:
// weights are normal with the deviation 0.02, as transformers has it, or
// with that of their inputs where the model is so small that 0.02 would keep
// it from learning; positions of the encoder are sinusoids.
func (c Config) Randomize(store *model.Store, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	all := c.Shapes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		shape := all[name]
		values := make([]float32, size(shape))
		switch {
		case name == positionsName:
			values = sinusoids(c.MaxSource, c.Width)
		case strings.HasSuffix(name, "layer_norm.weight"):
			for i := range values {
				values[i] = 1
			}
		case strings.HasSuffix(name, ".weight"):
			deviation := 0.02
			if c.Width < 128 {
				deviation = 1 / math.Sqrt(float64(len(values)/shape[0]))
			}
			for i := range values {
				values[i] = float32(random.NormFloat64() * deviation)
			}
		}
		if err := set(store, name, shape, values); err != nil {
			return err
		}
	}
	return nil
}
