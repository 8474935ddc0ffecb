package hf

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// A configuration that is accepted must describe a model of bounded size.
func FuzzConfig(f *testing.F) {
	data, err := os.ReadFile("testdata/tiny/config.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"model_type":"whisper"}`))
	f.Add([]byte(`{"model_type":"whisper","vocab_size":1e30}`))
	f.Add([]byte(`{"model_type":"whisper","d_model":262144,"encoder_layers":262144}`))
	f.Add([]byte(`{"model_type":"whisper","encoder_attention_heads":-6}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err != nil {
			return
		}
		if n := len(c.Shapes()); n > 16*1024 || c.Frames() <= 0 {
			t.Fatalf("%d tensors, %d frames", n, c.Frames())
		}
		if g, err := parseGeneration(data, c); err == nil {
			for _, token := range slices.Concat(g.Suppress, g.SuppressFirst) {
				if token < 0 || int(token) >= c.Vocabulary {
					t.Fatalf("token %d of %d", token, c.Vocabulary)
				}
			}
		}
	})
}

// A tokenizer.json that is accepted encodes any text, and decodes what it made.
func FuzzTokenizer(f *testing.F) {
	data, err := os.ReadFile("testdata/tiny/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, "the cat")
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0}}}`), "a")
	f.Add(data, "\xff<|en|>")
	f.Add(bytes.Replace(data, []byte(`"content": "<|en|>"`), []byte(`"content": ""`), 1), "a")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tokenizer, err := parseTokenizer(data)
		if err != nil {
			return
		}
		tokenizer.maxLabel = 448
		labels, err := tokenizer.Encode(text, "en")
		if err == nil {
			_ = tokenizer.Decode(labels)
		}
	})
}
