package hf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, "0 bytes"},
		{make([]byte, 7), "7 bytes"},
		{binary.LittleEndian.AppendUint64(nil, 1<<62), "claims"},
		{binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "claims"},
		{binary.LittleEndian.AppendUint64(nil, 90_000_000), "claims"},
		{file("[]", 0), "header"},
		{file(`{"a":1}`, 0), "a:"},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7), "bytes 0 to 8 of 7"},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "bytes 8 to 0"},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, 8), "bytes -8"},
		{file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "needs 12 bytes"},
		{file(`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), "shape"},
		{file(`{"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,8]}}`, 8), "shape"},
	} {
		_, err := parse("x", bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.data, err, c.want)
		}
	}
}

func TestHalfFloatsKeepTheirBits(t *testing.T) {
	for _, dtype := range []DType{F16, BF16} {
		all := make([]byte, 0, 2<<16)
		for i := range 1 << 16 {
			all = binary.LittleEndian.AppendUint16(all, uint16(i))
		}
		header, _ := json.Marshal(map[string]entry{"x": {dtype, []int64{1 << 16}, [2]int64{0, 2 << 16}}})
		data := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), all...)
		in, err := parse("x", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		values, err := in.floats("x")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := writeOne(&out, source{values: func() ([]float32, error) { return values, nil }}, dtype); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			got := binary.LittleEndian.Uint16(out.Bytes()[2*i:])
			if got != uint16(i) && !math.IsNaN(float64(v)) {
				t.Fatalf("%s %#04x is read as %g and written as %#04x", dtype, i, v, got)
			}
		}
	}
}

// Whatever a header says, reading it must neither panic nor take more memory
// than the file has bytes; what is accepted must be readable.
func FuzzParse(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 2))
	f.Add(file(`{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<40))
	f.Add(file(`{"a":{"dtype":"F16","shape":[9223372036854775807,2,0],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := parse("x", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for name, e := range in.entries {
			if e.Offsets[1]-e.Offsets[0] > int64(len(data)) {
				t.Fatalf("%s claims %v of %d bytes", name, e.Offsets, len(data))
			}
			if e.DType != F32 && e.DType != F16 && e.DType != BF16 {
				continue
			}
			values, err := in.floats(name)
			if err != nil {
				t.Fatal(err)
			}
			if n := int64(len(values) * e.DType.width()); n != e.Offsets[1]-e.Offsets[0] {
				t.Fatalf("%s: %d bytes of %v", name, n, e.Offsets)
			}
		}
	})
}

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
