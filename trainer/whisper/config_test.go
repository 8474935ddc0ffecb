package whisper

import (
	"math"
	"strings"
	"testing"
)

// The counts are those that transformers gives for the published models.
func TestParametersOfPublishedSizes(t *testing.T) {
	for name, want := range map[string]int{
		"tiny": 37_760_640, "base": 72_593_920, "small": 241_734_912, "medium": 763_857_920, "large": 1_543_304_960,
	} {
		c, err := Size(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.Parameters(); got != want {
			t.Errorf("%s has %d parameters, want %d", name, got, want)
		}
	}
	if _, err := Size("huge"); err == nil || !strings.Contains(err.Error(), "tiny") {
		t.Errorf("an unknown size: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(*Config) {}, nil},
		{func(c *Config) { c.ModelType = "bert" }, []string{`"bert"`}},
		{func(c *Config) { c.Mels, c.Vocabulary = 0, 1<<30 }, []string{"num_mel_bins is 0", "vocab_size is 1073741824"}},
		{func(c *Config) { c.EncoderHeads = 7 }, []string{"multiple of the attention heads"}},
		{func(c *Config) { c.EncoderLayers = 5000 }, []string{"layers"}},
		{func(c *Config) { c.Activation = "relu" }, []string{"activation_function"}},
		{func(c *Config) { c.EndToken = 60000 }, []string{"token 60000"}},
		{func(c *Config) { c.Dropout, c.ActivationDropout = 1, math.NaN() }, []string{"a dropout of 1", "a dropout of NaN"}},
		{func(c *Config) { c.EncoderLayerDrop = 0.1 }, []string{"layerdrop"}},
	} {
		config := Default()
		c.change(&config)
		err := config.Validate()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%v, want %q", err, c.want)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

func TestLabels(t *testing.T) {
	c := small()
	for _, l := range []struct {
		tokens []int32
		want   string
	}{
		{[]int32{1, 2, Ignored}, ""},
		{make([]int32, c.MaxTarget), ""},
		{make([]int32, c.MaxTarget+1), "max_target_positions"},
		{[]int32{int32(c.Vocabulary)}, "outside the model's vocabulary"},
		{[]int32{-1}, "outside the model's vocabulary"},
	} {
		err := c.Labels(l.tokens)
		if (err == nil) != (l.want == "") || err != nil && !strings.Contains(err.Error(), l.want) {
			t.Errorf("%d tokens: %v, want %q", len(l.tokens), err, l.want)
		}
	}
}
