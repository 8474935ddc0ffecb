package trainer

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// version is the dataset as one dataset.json names it. It does not change, so
// that an epoch that was begun with it can be ended with it.
type version struct {
	dir      string
	cfg      mel.Config
	manifest manifests.File
	records  []manifests.Shard
	shards   []*shard // as records
	lines    *lines
	damaged  []error

	names func() map[string]int32 // made when first asked for
}

// load makes the version of index, with its own manifest or one from before.
func (d *Dataset) load(index *manifests.Dataset, manifest manifests.File) (*version, error) {
	if index.Mel == nil || len(index.Shards) == 0 {
		return nil, fmt.Errorf("%s has no mels: make them with melforge mel, or see its rejects.jsonl", d.dir)
	}
	if err := index.Mel.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(d.dir, indexName), err)
	}
	v := &version{dir: d.dir, cfg: *index.Mel, manifest: manifest, records: index.Shards}
	v.names = sync.OnceValue(v.readNames)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range index.Shards {
		v.shards = append(v.shards, d.shard(r, v.cfg))
	}
	var err error
	if v.lines, err = readLines(filepath.Join(d.dir, filepath.FromSlash(manifest.File)), manifest, index.Shards); err != nil {
		return nil, err
	}
	d.lines = append(d.lines, v.lines)
	if d.opts.OnBadShard == Skip {
		v.skipDamaged()
	}
	if v.len() == 0 {
		return nil, errors.Join(append(v.damaged, fmt.Errorf("%s has no clip that can be read", d.dir))...)
	}
	if d.opts.Keep != nil {
		if err := v.filter(d.opts.Keep); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// is says whether index describes this very version.
func (v *version) is(index *manifests.Dataset) bool {
	if v.manifest != index.Manifest || len(v.records) != len(index.Shards) || index.Mel == nil || *index.Mel != v.cfg {
		return false
	}
	for i := range v.records {
		if v.records[i] != index.Shards[i] {
			return false
		}
	}
	return true
}

// skipDamaged leaves out the clips of shards that cannot be read.
func (v *version) skipDamaged() {
	failed := make([]error, len(v.shards))
	parallel(len(v.shards), func(i int) { failed[i] = v.shards[i].open() })
	for _, err := range failed {
		if err != nil {
			v.damaged = append(v.damaged, err)
		}
	}
	if len(v.damaged) > 0 {
		v.lines.keep(func(_ int, p place) bool { return failed[p.shard] == nil })
	}
}

// filter leaves out the clips that keep does not want.
func (v *version) filter(keep func(Clip) bool) error {
	var first error
	v.lines.keep(func(i int, _ place) bool {
		c, err := v.lines.clip(i)
		if err != nil && first == nil {
			first = err
		}
		return err == nil && keep(c)
	})
	if first == nil && v.len() == 0 {
		first = fmt.Errorf("%s: Options.Keep leaves no clip", v.dir)
	}
	return first
}

func (v *version) len() int { return len(v.lines.places) }

func (v *version) frames(i int) int { return int(v.lines.places[i].frames) }

func (v *version) clip(i int) Clip {
	c, err := v.lines.clip(i)
	if err != nil {
		// Every line was read and its checksum compared when the version was loaded.
		panic(fmt.Errorf("changed while it was open: %w", err))
	}
	return c
}

// longest is the index of the clip with the most frames.
func (v *version) longest() int {
	best := 0
	for i, p := range v.lines.places {
		if p.frames > v.lines.places[best].frames {
			best = i
		}
	}
	return best
}

func (v *version) find(name string) (int, bool) {
	i, ok := v.names()[name]
	return int(i), ok
}

// readNames maps ids and keys to indices. Ids win, since keys come twice.
func (v *version) readNames() map[string]int32 {
	names := make(map[string]int32, 2*v.len())
	keys := make([]string, v.len())
	for i := range keys {
		c := v.clip(i)
		names[c.ID], keys[i] = int32(i), c.Key
	}
	for i, key := range keys {
		if _, taken := names[key]; !taken {
			names[key] = int32(i)
		}
	}
	return names
}
