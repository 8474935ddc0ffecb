package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/trainer/safetensors"
)

// indexName names the checkpoints that count; what it does not name is a
// leftover of a run that was killed.
const indexName = "checkpoints.json"

// formatVersion is that of checkpoints and their index.
const formatVersion = 1

// index is checkpoints.json: written after a checkpoint is whole.
type index struct {
	Version int      `json:"version"`
	Last    string   `json:"last"`
	Best    string   `json:"best,omitempty"`
	Kept    []string `json:"kept"`
}

// position is where a run stands, as a checkpoint keeps it.
type position struct {
	Version     int             `json:"version"`
	Fingerprint string          `json:"fingerprint"`
	Step        int             `json:"step"`
	Samples     int64           `json:"samples"`
	Epoch       int             `json:"epoch"`
	Source      json.RawMessage `json:"source,omitempty"`
	// Best is the best evaluation so far, Since how many came after it.
	Best  *Evaluation `json:"best,omitempty"`
	Since int         `json:"evaluations_since_best,omitempty"`
	// Evaluations are all so far, without their details.
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	// Frozen are the variables of the model that are not trained.
	Frozen []string `json:"frozen,omitempty"`
	// Order is that in which the variables came to be, and in which a step gives
	// them back: a resumed run's graph is to be the same to the last detail.
	Order []string `json:"order,omitempty"`
}

// ordered are the names in Order, and then those that it lacks.
func (p position) ordered(names []string) []string {
	place := func(name string) int {
		if i := slices.Index(p.Order, name); i >= 0 {
			return i
		}
		return len(p.Order)
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// OtherModel is the error for a checkpoint of a model that is not this one.
type OtherModel struct{ File, Theirs, Ours string }

// Error implements error.
func (o *OtherModel) Error() string {
	return fmt.Sprintf("%s is the checkpoint of another model: its is %s, this one is %s: name another folder, or train without --resume",
		o.File, short(o.Theirs), short(o.Ours))
}

func short(s string) string {
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}

// NoCheckpoint is the error for a folder without one.
type NoCheckpoint struct{ Dir string }

// Error implements error.
func (n *NoCheckpoint) Error() string {
	return fmt.Sprintf("%s holds no checkpoint to go on from: train without --resume", n.Dir)
}

// checkpoints is the folder that a run saves to.
type checkpoints struct {
	dir  string
	keep int
}

func (c checkpoints) path(name string) string { return filepath.Join(c.dir, name) }

// load reads the index; it is nil where there is none.
func (c checkpoints) load() (*index, error) {
	path := c.path(indexName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var x index
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if x.Version != formatVersion {
		return nil, fmt.Errorf("%s has version %d, this program knows %d", path, x.Version, formatVersion)
	}
	for _, name := range append(slices.Clone(x.Kept), x.Last, x.Best) {
		if name != filepath.Base(name) && name != "" {
			return nil, fmt.Errorf("%s names %q, which is not in its folder", path, name)
		}
	}
	return &x, nil
}

// save writes the store and where the run stands, then the index, then removes
// what is no longer kept.
func (c checkpoints) save(store *model.Store, p position, best bool) (string, error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", err
	}
	x, err := c.load()
	if err != nil {
		return "", err
	}
	if x == nil {
		x = &index{}
	}
	name := fmt.Sprintf("step-%08d.safetensors", p.Step)
	if err := c.write(name, store, p); err != nil {
		return "", fmt.Errorf("checkpoint %s: %w", c.path(name), err)
	}
	x.Version, x.Last = formatVersion, name
	if best {
		x.Best = name
	}
	x.Kept = c.kept(x, name)
	b, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return "", err
	}
	err = commit.File("checkpoint-index", c.path(indexName), func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
	if err != nil {
		return "", err
	}
	return c.path(name), c.sweep(x)
}

// kept are the newest, and the best however old.
func (c checkpoints) kept(x *index, name string) []string {
	kept := slices.DeleteFunc(slices.Clone(x.Kept), func(k string) bool { return k >= name }) // of a longer run before
	kept = append(kept, name)
	slices.Sort(kept)
	kept = kept[max(0, len(kept)-max(1, c.keep)):]
	if x.Best != "" && !slices.Contains(kept, x.Best) {
		kept = append([]string{x.Best}, kept...)
	}
	return kept
}

func (c checkpoints) write(name string, store *model.Store, p position) error {
	var sources []safetensors.Source
	for v := range store.IterVariables() {
		if strings.HasPrefix(v.Path(), accumulated+"/") || !v.HasValue() {
			continue
		}
		value, err := v.Value()
		if err != nil {
			return err
		}
		s, err := source(v.Path(), value)
		if err != nil {
			return err
		}
		sources = append(sources, s)
		p.Order = append(p.Order, v.Path())
		if !v.Trainable {
			p.Frozen = append(p.Frozen, v.Path())
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	metadata := map[string]string{"format": "melforge-checkpoint", "position": string(b)}
	return commit.File("checkpoint", c.path(name), func(w io.Writer) error { return safetensors.Write(w, metadata, sources) })
}

// sweep removes checkpoints that the index does not name.
func (c checkpoints) sweep(x *index) error {
	found, err := filepath.Glob(c.path("step-*.safetensors"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range found {
		if !slices.Contains(x.Kept, filepath.Base(path)) {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// restore puts a checkpoint's variables into the store. Nothing is changed
// before the checkpoint is known to be of this model.
func (c checkpoints) restore(store *model.Store, name, fingerprint string) (p position, err error) {
	path := c.path(name)
	f, err := safetensors.Open(path)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	metadata, err := f.Metadata()
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(metadata["position"]), &p); err != nil {
		return p, fmt.Errorf("%s: no checkpoint of this program: %w", path, err)
	}
	if p.Version != formatVersion {
		return p, fmt.Errorf("%s has version %d, this program knows %d", path, p.Version, formatVersion)
	}
	if p.Fingerprint != fingerprint {
		return p, &OtherModel{File: path, Theirs: p.Fingerprint, Ours: fingerprint}
	}
	for _, variable := range f.Names() {
		want, err := shapeIn(f, variable)
		if err != nil {
			return p, err
		}
		if have := store.GetVariable(variable); have != nil && !have.Shape().Equal(want) {
			return p, &OtherModel{File: path, Theirs: variable + " " + want.String(), Ours: variable + " " + have.Shape().String()}
		}
	}
	for _, variable := range p.ordered(f.Names()) {
		value, err := readValue(f, variable)
		if err != nil {
			return p, err
		}
		if err := put(store, variable, value, !slices.Contains(p.Frozen, variable)); err != nil {
			return p, fmt.Errorf("%s: variable %s: %w", path, variable, err)
		}
	}
	return p, nil
}

func put(store *model.Store, name string, value *tensors.Tensor, trainable bool) error {
	if v := store.GetVariable(name); v != nil {
		v.SetTrainable(trainable)
		return v.SetValue(value)
	}
	v, err := store.CreateVariable(name, value)
	if err != nil {
		return err
	}
	v.SetTrainable(trainable)
	return nil
}
