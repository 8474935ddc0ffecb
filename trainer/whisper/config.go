// Package whisper is OpenAI's speech recogniser as a GoMLX graph: the encoder
// and decoder of Hugging Face's WhisperForConditionalGeneration, their loss,
// and greedy decoding.
//
// The variables have the names and layouts of Hugging Face's safetensors, with
// slashes for dots: reading and writing a model is a plain copy. They are
// float32 whatever the matrix products are computed in.
package whisper

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Config is what config.json says of the model, by its names.
type Config struct {
	ModelType         string  `json:"model_type"`
	Mels              int     `json:"num_mel_bins"`
	Width             int     `json:"d_model"`
	EncoderLayers     int     `json:"encoder_layers"`
	DecoderLayers     int     `json:"decoder_layers"`
	EncoderHeads      int     `json:"encoder_attention_heads"`
	DecoderHeads      int     `json:"decoder_attention_heads"`
	EncoderFFN        int     `json:"encoder_ffn_dim"`
	DecoderFFN        int     `json:"decoder_ffn_dim"`
	Vocabulary        int     `json:"vocab_size"`
	MaxSource         int     `json:"max_source_positions"`
	MaxTarget         int     `json:"max_target_positions"`
	StartToken        int     `json:"decoder_start_token_id"`
	PadToken          int     `json:"pad_token_id"`
	EndToken          int     `json:"eos_token_id"`
	Activation        string  `json:"activation_function"`
	Dropout           float64 `json:"dropout"`
	AttentionDropout  float64 `json:"attention_dropout"`
	ActivationDropout float64 `json:"activation_dropout"`
	EncoderLayerDrop  float64 `json:"encoder_layerdrop"`
	DecoderLayerDrop  float64 `json:"decoder_layerdrop"`
	SpecAugment       bool    `json:"apply_spec_augment"`
}

// Default holds the values that config.json may leave out, as transformers has
// them in WhisperConfig.
func Default() Config {
	return Config{
		ModelType: "whisper", Mels: 80, Width: 384, EncoderLayers: 4, DecoderLayers: 4,
		EncoderHeads: 6, DecoderHeads: 6, EncoderFFN: 1536, DecoderFFN: 1536,
		Vocabulary: 51865, MaxSource: 1500, MaxTarget: 448,
		StartToken: 50257, PadToken: 50256, EndToken: 50256, Activation: "gelu",
	}
}

// sizes are the published models: width, layers on each side and heads.
var sizes = map[string][3]int{
	"tiny": {384, 4, 6}, "base": {512, 6, 8}, "small": {768, 12, 12}, "medium": {1024, 24, 16}, "large": {1280, 32, 20},
}

// Size is the configuration of a published multilingual model: tiny, base,
// small, medium or large (which is large-v2, of 80 mels).
func Size(name string) (Config, error) {
	s, ok := sizes[name]
	if !ok {
		return Config{}, fmt.Errorf("no Whisper of size %q: use tiny, base, small, medium or large", name)
	}
	c := Default()
	c.Width, c.EncoderLayers, c.DecoderLayers, c.EncoderHeads, c.DecoderHeads = s[0], s[1], s[1], s[2], s[2]
	c.EncoderFFN, c.DecoderFFN = 4*s[0], 4*s[0]
	c.StartToken, c.PadToken, c.EndToken = 50258, 50257, 50257
	return c, nil
}

// Bounds of every dimension and of the layers, so that a lying file cannot ask
// for a model of any size: well above those of large.
const (
	largest = 1 << 18
	deepest = 256
)

// Validate says everything that keeps the configuration from being a Whisper
// that this package can train.
func (c Config) Validate() error {
	if c.ModelType != "whisper" {
		return fmt.Errorf("model_type is %q, not \"whisper\"", c.ModelType)
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, d := range []struct {
		name  string
		value int
	}{
		{"num_mel_bins", c.Mels}, {"d_model", c.Width}, {"encoder_layers", c.EncoderLayers}, {"decoder_layers", c.DecoderLayers},
		{"encoder_attention_heads", c.EncoderHeads}, {"decoder_attention_heads", c.DecoderHeads},
		{"encoder_ffn_dim", c.EncoderFFN}, {"decoder_ffn_dim", c.DecoderFFN}, {"vocab_size", c.Vocabulary},
		{"max_source_positions", c.MaxSource}, {"max_target_positions", c.MaxTarget},
	} {
		if d.value < 1 || d.value > largest {
			bad("%s is %d: it must be between 1 and %d", d.name, d.value, largest)
		}
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	if c.Width%2 != 0 || c.Width%c.EncoderHeads != 0 || c.Width%c.DecoderHeads != 0 {
		bad("d_model is %d: it must be even and a multiple of the attention heads, %d and %d", c.Width, c.EncoderHeads, c.DecoderHeads)
	}
	if c.EncoderLayers > deepest || c.DecoderLayers > deepest {
		bad("%d and %d layers: at most %d are supported", c.EncoderLayers, c.DecoderLayers, deepest)
	}
	if c.Activation != "gelu" {
		bad("activation_function is %q: only \"gelu\" is supported", c.Activation)
	}
	for _, id := range []int{c.StartToken, c.PadToken, c.EndToken} {
		if id < 0 || id >= c.Vocabulary {
			bad("token %d of the configuration is outside the vocabulary of %d", id, c.Vocabulary)
		}
	}
	for _, p := range []float64{c.Dropout, c.AttentionDropout, c.ActivationDropout} {
		if !(p >= 0 && p < 1) {
			bad("a dropout of %g: it must be at least 0 and below 1", p)
		}
	}
	if c.EncoderLayerDrop != 0 || c.DecoderLayerDrop != 0 {
		bad("encoder_layerdrop and decoder_layerdrop are not supported: set them to 0")
	}
	return errors.Join(errs...)
}

// Frames is the number of mel frames that the encoder takes.
func (c Config) Frames() int { return 2 * c.MaxSource }

// sinusoids are the encoder's positions: sines in the first half of the width
// and cosines in the second, over wavelengths of 2π to 10,000·2π.
func sinusoids(length, width int) []float32 {
	half := width / 2
	out := make([]float32, length*width)
	for t := range length {
		for i := range half {
			scale := math.Exp(-math.Log(10000) / float64(max(1, half-1)) * float64(i))
			sin, cos := math.Sincos(float64(t) * scale)
			out[t*width+i], out[t*width+half+i] = float32(sin), float32(cos)
		}
	}
	return out
}

// Labels says what is wrong with the tokens of one utterance: too many for the
// decoder, or outside the vocabulary.
func (c Config) Labels(tokens []int32) error {
	if len(tokens) > c.MaxTarget {
		return fmt.Errorf("%d tokens, and the model takes %d (max_target_positions): shorten the text or leave the clip out", len(tokens), c.MaxTarget)
	}
	if i := slices.IndexFunc(tokens, func(t int32) bool { return t < 0 && t != Ignored || int(t) >= c.Vocabulary }); i >= 0 {
		return fmt.Errorf("token %d is outside the model's vocabulary of %d: the tokenizer is not this model's", tokens[i], c.Vocabulary)
	}
	return nil
}
