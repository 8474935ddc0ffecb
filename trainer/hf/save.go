package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/trainer/safetensors"
)

// beside are the files that go with a model unchanged.
var beside = []string{
	tokenizerFile, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
	"normalizer.json", generationFile, preprocessorFile, "processor_config.json",
}

// Save writes the model in the store to the folder dir as transformers'
// save_pretrained does, with this folder's tokenizer and configurations. Each
// file appears whole or not at all, and config.json last: a folder that has
// one is complete.
func (f *Folder) Save(dir string, store *model.Store, dtype safetensors.DType) error {
	if dtypeNames[dtype] == "" {
		return fmt.Errorf("weights cannot be written as %q: use F32, F16 or BF16", dtype)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	config, err := f.configAs(dtype)
	if err != nil {
		return err
	}
	if !sameDir(dir, f.Dir) {
		if err := removeIfThere(filepath.Join(dir, configFile)); err != nil {
			return err
		}
		if err := f.copyBeside(dir); err != nil {
			return err
		}
	}
	err = commit.File("weights", filepath.Join(dir, weightsFile), func(w io.Writer) error {
		return safetensors.Write(w, map[string]string{"format": "pt"}, modelSources(f.Config, store, dtype))
	})
	if err != nil {
		return err
	}
	if err := removeIfThere(filepath.Join(dir, indexFile)); err != nil {
		return err
	}
	return commitBytes(filepath.Join(dir, configFile), config)
}

// configAs is config.json with the type of the weights.
func (f *Folder) configAs(dtype safetensors.DType) ([]byte, error) {
	path := filepath.Join(f.Dir, configFile)
	data, err := readJSON(f.Dir, configFile)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	key := "dtype"
	if _, old := fields["torch_dtype"]; old {
		key = "torch_dtype"
	}
	fields[key] = json.RawMessage(`"` + dtypeNames[dtype] + `"`)
	out, err := json.MarshalIndent(fields, "", "  ")
	return append(out, '\n'), err
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *Folder) copyBeside(dir string) error {
	for _, name := range beside {
		data, err := readJSON(f.Dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := commitBytes(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

func commitBytes(path string, data []byte) error {
	return commit.File("model", path, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
}

func sameDir(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
