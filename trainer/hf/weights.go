package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/ml/model"

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
	t, done, err := openTensors(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "pytorch_model.bin")); err == nil {
			return nil, fmt.Errorf("%s has pytorch_model.bin and no %s: convert it with transformers' save_pretrained", dir, weightsFile)
		}
		return nil, fmt.Errorf("%w, nor %s", err, indexFile)
	}
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(t.entries))
	for name := range t.entries {
		files[name] = weightsFile
	}
	return files, done()
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
		err := f.inFile(file, byFile[file], func(t *tensors, name, in string) error {
			e, ok := t.entries[in]
			switch {
			case !ok:
				errs = append(errs, fmt.Errorf("%s is not in %s, where the index says it is", name, file))
			case !slices.Equal(e.shape(), want[name]):
				errs = append(errs, fmt.Errorf("%s has the shape %v and config.json needs %v", name, e.shape(), want[name]))
			case e.DType != F32 && e.DType != F16 && e.DType != BF16:
				errs = append(errs, fmt.Errorf("%s is of type %s: only F32, F16 and BF16 are read", name, e.DType))
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
func (f *Folder) inFile(file string, names []string, visit func(t *tensors, name, in string) error) (err error) {
	t, done, err := openTensors(filepath.Join(f.Dir, file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
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
		err := f.inFile(file, byFile[file], func(t *tensors, name, in string) error {
			values, err := t.floats(in)
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

func modelSources(c whisper.Config, store *model.Store) []source {
	var sources []source
	for name, shape := range c.Shapes() {
		sources = append(sources, source{name: name, shape: shape, values: func() ([]float32, error) { return whisper.Get(store, name) }})
	}
	return sources
}
