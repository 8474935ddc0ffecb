package hf

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/safetensors"
	"github.com/melforge/melforge/trainer/whisper"
)

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   []string
	}{
		{"no config", func(t *testing.T, dir string) { remove(t, dir, configFile) }, []string{"a Hugging Face model folder is needed"}},
		{"no JSON", func(t *testing.T, dir string) { put(t, dir, configFile, "{") }, []string{configFile}},
		{"not Whisper", func(t *testing.T, dir string) { edit(t, dir, configFile, `"whisper"`, `"bert"`) }, []string{`model_type is "bert"`}},
		{"no type", func(t *testing.T, dir string) { put(t, dir, configFile, "{}") }, []string{`model_type is ""`}},
		{"no weights", func(t *testing.T, dir string) { remove(t, dir, weightsFile) }, []string{weightsFile, indexFile}},
		{"old weights", func(t *testing.T, dir string) {
			remove(t, dir, weightsFile)
			put(t, dir, "pytorch_model.bin", "")
		}, []string{"save_pretrained"}},
		{"cut weights", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, weightsFile), 50000); err != nil {
				t.Fatal(err)
			}
		}, []string{"not a whole safetensors file"}},
		{"another shape", func(t *testing.T, dir string) {
			edit(t, dir, configFile, `"decoder_ffn_dim": 24`, `"decoder_ffn_dim": 25`)
		}, []string{
			"model.decoder.layers.0.fc1.weight has the shape [24 16] and config.json needs [25 16]", "model.decoder.layers.1.fc2.weight",
		}},
		{"more layers", func(t *testing.T, dir string) { edit(t, dir, configFile, `"encoder_layers": 2`, `"encoder_layers": 3`) }, []string{
			"model.encoder.layers.2.fc1.weight is missing", "model.encoder.layers.2.self_attn.q_proj.bias is missing",
		}},
		{"fewer layers", func(t *testing.T, dir string) { edit(t, dir, configFile, `"encoder_layers": 2`, `"encoder_layers": 1`) }, []string{
			"model.encoder.layers.1.fc1.weight is no tensor of a Whisper",
		}},
		{"bins", func(t *testing.T, dir string) {
			edit(t, dir, preprocessorFile, `"feature_size": 8`, `"feature_size": 80`)
		}, []string{"feature_size is 80"}},
		{"rate", func(t *testing.T, dir string) { edit(t, dir, preprocessorFile, "16000", "22050") }, []string{"22050"}},
		{"suppress", func(t *testing.T, dir string) { edit(t, dir, generationFile, "    7,", "    700,") }, []string{"token 700"}},
		{"outside", func(t *testing.T, dir string) {
			put(t, dir, indexFile, `{"weight_map":{"proj_out.weight":"../x"}}`)
		}, []string{"outside the folder"}},
		{"index alone", func(t *testing.T, dir string) {
			put(t, dir, indexFile, `{"weight_map":{"model.encoder.conv1.bias":"model-00001-of-00002.safetensors"}}`)
		}, []string{"model-00001-of-00002.safetensors", "model.encoder.conv1.weight is missing"}},
	} {
		dir := copyTiny(t)
		c.change(t, dir)
		_, err := Open(dir)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, want := range append(c.want, dir) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
}

// What is written must be read back, in float32 bit by bit.
func TestSaveAndOpen(t *testing.T) {
	g := tiny(t)
	store := g.store()
	for dtype, tolerance := range map[safetensors.DType]float64{F32: 0, BF16: 1.0 / 256, F16: 1.0 / 2048} {
		dir := filepath.Join(t.TempDir(), "new", "model")
		if err := g.folder.Save(dir, store, dtype); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if again.Config != g.folder.Config {
			t.Errorf("config %+v, want %+v", again.Config, g.folder.Config)
		}
		if _, err := again.Tokenizer(); err != nil {
			t.Error(err)
		}
		loaded := model.NewStore()
		if err := again.Load(loaded); err != nil {
			t.Fatal(err)
		}
		for name := range g.folder.Config.Shapes() {
			want, _ := whisper.Get(store, name)
			got, err := whisper.Get(loaded, name)
			if err != nil {
				t.Fatal(err)
			}
			if far := distance(got, want); far > tolerance {
				t.Errorf("%s as %s is off by %g", name, dtype, far)
			}
		}
		data, _ := os.ReadFile(filepath.Join(dir, configFile))
		if !bytes.Contains(data, []byte(`"`+dtypeNames[dtype]+`"`)) {
			t.Errorf("config.json does not name %s", dtypeNames[dtype])
		}
	}
	if err := g.folder.Save(t.TempDir(), store, "I8"); err == nil {
		t.Error("weights were written as I8")
	}
}

// The weights of testdata were written by the format's own library: ours must be
// the same byte by byte.
func TestSaveEqualsTransformers(t *testing.T) {
	g := tiny(t)
	dir := t.TempDir()
	if err := g.folder.Save(dir, g.store(), F32); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(g.folder.Dir, weightsFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, weightsFile)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes that are not the %d of the library: %v", len(got), len(want), err)
	}
}

// A model saved over itself is whole, and config.json is never missing for long.
func TestSaveInPlace(t *testing.T) {
	dir := copyTiny(t)
	folder, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	if err := folder.Load(store); err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(dir, store, BF16); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err != nil {
		t.Error(err)
	}
}

// A sharded model is the same model, also where proj_out is repeated and the
// names lack their prefix.
func TestSharded(t *testing.T) {
	g := tiny(t)
	store := g.store()
	dir := copyTiny(t)
	remove(t, dir, weightsFile)
	var parts [2][]safetensors.Source
	index := map[string]string{}
	files := [2]string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}
	byName := func(a, b safetensors.Source) int { return strings.Compare(a.Name, b.Name) }
	for i, s := range slices.SortedFunc(slices.Values(modelSources(g.folder.Config, store, F16)), byName) {
		s.Name = strings.TrimPrefix(s.Name, "model.")
		parts[i%2] = append(parts[i%2], s)
		index[s.Name] = files[i%2]
	}
	parts[0] = append(parts[0], safetensors.Source{
		Name: tied, DType: F16, Shape: []int{1}, Write: func(w io.Writer) error { return writeFloats(w, []float32{1}, F16) },
	})
	index[tied] = files[0]
	for i, part := range parts {
		var b bytes.Buffer
		if err := safetensors.Write(&b, nil, part); err != nil {
			t.Fatal(err)
		}
		put(t, dir, files[i], b.String())
	}
	text, err := json.Marshal(map[string]any{"weight_map": index})
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, indexFile, string(text))
	folder, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	loaded := model.NewStore()
	if err := folder.Load(loaded); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(folder.Config.Shapes())) {
		want, _ := whisper.Get(store, name)
		if got, err := whisper.Get(loaded, name); err != nil || distance(got, want) > 1.0/2048 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
