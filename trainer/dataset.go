package trainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// indexName is where a dataset begins.
const indexName = "dataset.json"

// BadShard says what becomes of a shard that is missing, damaged or replaced.
type BadShard int

const (
	// Fail makes it an error when a clip of it is first needed.
	Fail BadShard = iota
	// Skip leaves its clips out. All shards are looked at when the dataset is
	// opened, and not later, because all ranks must agree on what there is.
	Skip
)

// Options say how a dataset is opened. The zero value reads all of it and
// fails at damage.
type Options struct {
	OnBadShard BadShard
	// Verify also compares every byte of a shard with its checksum, once.
	Verify bool
	// Keep chooses the clips that count, for example those of one language or
	// one side of HoldOut; nil keeps all. It must decide by the clip alone, or
	// ranks and resumed runs would see different datasets.
	Keep func(Clip) bool
}

// Dataset is a dataset opened for reading. It is safe for concurrent use.
type Dataset struct {
	dir  string
	opts Options

	now atomic.Pointer[version]

	mu     sync.Mutex // guards shards, and lets one version be loaded at a time
	shards map[shardID]*shard
	lines  []*lines // of all versions: whoever holds an old one may still ask it
}

// Open opens the dataset in the folder dir. Close it in the end.
func Open(dir string, opts Options) (*Dataset, error) {
	if opts.OnBadShard != Fail && opts.OnBadShard != Skip {
		return nil, fmt.Errorf("OnBadShard is %d: want Fail or Skip", opts.OnBadShard)
	}
	d := &Dataset{dir: dir, opts: opts, shards: map[shardID]*shard{}}
	index, err := readIndex(dir)
	if err != nil {
		return nil, err
	}
	v, err := d.load(index, index.Manifest)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.now.Store(v)
	return d, nil
}

// readIndex reads dataset.json.
func readIndex(dir string) (*manifests.Dataset, error) {
	path := filepath.Join(dir, indexName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is no dataset, or its first run did not end", err, dir)
	}
	if err != nil {
		return nil, err
	}
	index, err := manifests.DecodeDataset(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return index, nil
}

// Len is the number of clips.
func (d *Dataset) Len() int { return d.now.Load().len() }

// Mel is the mel configuration of all clips.
func (d *Dataset) Mel() mel.Config { return d.now.Load().cfg }

// Clip is what the manifest says of clip i. It panics where i is out of range,
// as a slice does.
func (d *Dataset) Clip(i int) Clip { return d.now.Load().clip(i) }

// Find gives the index of the clip with this id or, if there is none, of the
// first with this key.
func (d *Dataset) Find(name string) (int, bool) { return d.now.Load().find(name) }

// Damaged has an error for each shard that was left out under Skip.
func (d *Dataset) Damaged() []error { return d.now.Load().damaged }

// Refresh takes up what was added to the dataset since, and says by how many
// clips it grew. Indices of before may mean other clips then. A Loader finishes
// the epoch it is in with what it began it with.
func (d *Dataset) Refresh() (grown int, err error) {
	index, err := readIndex(d.dir)
	if err != nil {
		return 0, err
	}
	old := d.now.Load()
	if old.is(index) {
		return 0, nil
	}
	v, err := d.load(index, index.Manifest)
	if err != nil {
		return 0, err
	}
	if v.cfg != old.cfg {
		return 0, fmt.Errorf("%s was made anew with the mel configuration %s instead of %s: open it again",
			d.dir, v.cfg.Name, old.cfg.Name)
	}
	d.now.Store(v)
	return v.len() - old.len(), nil
}

// pinned is the version of the dataset that had this manifest. Manifests stay
// until melforge gc removes what is no longer named.
func (d *Dataset) pinned(manifest manifests.File) (*version, error) {
	if v := d.now.Load(); v.manifest == manifest {
		return v, nil
	}
	index, err := readIndex(d.dir)
	if err != nil {
		return nil, err
	}
	v, err := d.load(index, manifest)
	if err != nil {
		return nil, fmt.Errorf("cannot go back to the dataset of the state: %w", err)
	}
	return v, nil
}

// Close releases the files. Loaders are to be closed before.
func (d *Dataset) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, s := range d.shards {
		errs = append(errs, s.close())
	}
	for _, l := range d.lines {
		errs = append(errs, l.m.close())
	}
	clear(d.shards)
	d.lines = nil
	return errors.Join(errs...)
}
