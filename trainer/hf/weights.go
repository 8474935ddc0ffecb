package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/safetensors"
	"github.com/melforge/melforge/trainer/whisper"
)

// tied is the projection to the vocabulary, which some files repeat.
const tied = "proj_out.weight"

// findWeights maps tensors to files of the folder: those of the index, or of
// the only file.
func findWeights(dir string) (map[string]string, error) {
	data, err := readJSON(dir, indexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return findOnlyFile(dir)
	}
	if err != nil {
		return nil, err
	}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, indexFile), err)
	}
	for name, file := range index.Files {
		if !filepath.IsLocal(file) {
			return nil, fmt.Errorf("%s: %s is said to be in %q, outside the folder", filepath.Join(dir, indexFile), name, file)
		}
	}
	return index.Files, nil
}

func findOnlyFile(dir string) (map[string]string, error) {
	path := filepath.Join(dir, weightsFile)
	t, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "pytorch_model.bin")); err == nil {
			return nil, fmt.Errorf("%s has pytorch_model.bin and no %s: convert it with transformers' save_pretrained", dir, weightsFile)
		}
		return nil, fmt.Errorf("%w, nor %s", err, indexFile)
	}
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range t.Names() {
		files[name] = weightsFile
	}
	return files, t.Close()
}

// named is the name of a model's tensor in the files: those of a WhisperModel
// alone lack the prefix.
func (f *Folder) named(name string) string {
	if _, ok := f.weights[name]; ok {
		return name
	}
	return strings.TrimPrefix(name, "model.")
}

// checkWeights says everything that is missing, of another shape, or that the
// model has no place for.
func (f *Folder) checkWeights() error {
	want := f.Config.Shapes()
	var errs []error
	known := map[string]bool{tied: true}
	byFile := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		in := f.named(name)
		known[in] = true
		file, ok := f.weights[in]
		if !ok {
			errs = append(errs, fmt.Errorf("%s is missing", name))
			continue
		}
		byFile[file] = append(byFile[file], name)
	}
	for _, name := range slices.Sorted(maps.Keys(f.weights)) {
		if !known[name] {
			errs = append(errs, fmt.Errorf("%s is no tensor of a Whisper of this configuration", name))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		err := f.inFile(file, byFile[file], func(t *safetensors.File, name, in string) error {
			e, ok := t.Entry(in)
			if !ok {
				errs = append(errs, fmt.Errorf("%s is not in %s, where the index says it is", name, file))
			} else if !slices.Equal(e.Shape, want[name]) {
				errs = append(errs, fmt.Errorf("%s has the shape %v and config.json needs %v", name, e.Shape, want[name]))
			} else if err := checkRead(e.DType); err != nil {
				errs = append(errs, fmt.Errorf("%s %w", name, err))
			}
			return nil
		})
		if err != nil {
			errs = append(errs, err)
		}
	}
	if errs != nil {
		return fmt.Errorf("the weights in %s are not those of its config.json: %w", f.Dir, errors.Join(errs...))
	}
	return nil
}

// inFile calls visit for the tensors of a file, by their names in the model
// and in the file.
func (f *Folder) inFile(file string, names []string, visit func(t *safetensors.File, name, in string) error) (err error) {
	t, err := safetensors.Open(filepath.Join(f.Dir, file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, name := range names {
		if err := visit(t, name, f.named(name)); err != nil {
			return err
		}
	}
	return nil
}

// Load puts the weights into the store as float32 variables, under their names
// with slashes for dots.
func (f *Folder) Load(store *model.Store) error {
	byFile := map[string][]string{}
	for name := range f.Config.Shapes() {
		file := f.weights[f.named(name)]
		byFile[file] = append(byFile[file], name)
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		slices.Sort(byFile[file])
		err := f.inFile(file, byFile[file], func(t *safetensors.File, name, in string) error {
			values, err := readFloats(t, in)
			if err != nil {
				return err
			}
			return f.Config.Set(store, name, values)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func modelSources(c whisper.Config, store *model.Store, dtype safetensors.DType) []safetensors.Source {
	var sources []safetensors.Source
	for name, shape := range c.Shapes() {
		sources = append(sources, safetensors.Source{Name: name, DType: dtype, Shape: shape, Write: func(w io.Writer) error {
			values, err := whisper.Get(store, name)
			if err != nil {
				return err
			}
			return writeFloats(w, values, dtype)
		}})
	}
	return sources
}
