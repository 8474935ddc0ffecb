// Package forge makes one shard of a plan: it speaks what is not spoken yet,
// checks the sound, computes the mels and commits the HDF5 file. It knows
// nothing of Beam: a pipeline decides where a shard is made, this package how.
package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
	"github.com/melforge/melforge/tts"
)

// Forge makes shards. It is safe for concurrent use; however many shards are
// made at once, they share its voices and its engine.
type Forge struct {
	voices   *tts.Set
	engine   mel.Engine // nil where only wavs are made
	jobs     int
	speaking *semaphore.Weighted
	progress *Progress

	resampler audio.Resampler // keeps its filters
	slabs     sync.Pool       // of memory for mels
	saying    singleflight.Group

	mu     sync.Mutex
	assets map[assetsKey]*augment.Assets
}

// assetsKey is what loaded noises and rooms depend on.
type assetsKey struct {
	recipe augment.Recipe
	rate   int
}

// New makes a forge that speaks with at most jobs voices at once.
func New(voices *tts.Set, engine mel.Engine, jobs int, progress *Progress) *Forge {
	return &Forge{
		voices: voices, engine: engine, jobs: jobs, speaking: semaphore.NewWeighted(int64(jobs)), progress: progress,
		assets: map[assetsKey]*augment.Assets{},
	}
}

// assetsFor loads the noises and rooms of a plan, once.
func (f *Forge) assetsFor(s manifests.Settings) (*augment.Assets, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := assetsKey{s.Augment, s.Rate}
	if a, ok := f.assets[key]; ok {
		return a, nil
	}
	a, err := augment.LoadAssets(s.Augment, s.Rate, 0)
	if err != nil {
		return nil, err
	}
	f.assets[key] = a
	return a, nil
}

// Make makes shard s of plan p in folder and returns what became of each of
// its utterances. A shard that an earlier run completed is taken as it is.
func (f *Forge) Make(ctx context.Context, folder datasets.Folder, p *manifests.Plan, s manifests.ShardPlan) (manifests.Result, error) {
	if r, ok := f.resume(folder, p, s); ok {
		return r, nil
	}
	items, err := readItems(folder, p, s)
	if err != nil {
		return manifests.Result{}, err
	}
	m := &making{forge: f, folder: folder, plan: p, shard: s, clips: make([]clip, len(items)), dirs: map[string]bool{}}
	m.budget.Store(keepValues)
	m.memory.pool = &f.slabs
	defer m.memory.release()
	if m.assets, err = f.assetsFor(p.Settings); err != nil {
		return manifests.Result{}, err
	}
	if err := m.sounds(ctx, items); err != nil {
		return manifests.Result{}, err
	}
	r := manifests.Result{Version: manifests.ResultVersion, Name: s.Name, Made: []manifests.Made{}}
	made := m.settle(&r)
	if err := m.syncWavs(); err != nil {
		return r, err
	}
	if p.Mel != nil && len(made) > 0 {
		if r.Shard, err = m.write(ctx, made); err != nil {
			return r, fmt.Errorf("shard %s: %w", s.Name, err)
		}
	}
	r.Cost = m.cost.total()
	return r, writeResult(folder, &r)
}

// resume loads the result of a shard that is complete. Anything wrong with it
// only means that the shard is made again.
func (f *Forge) resume(folder datasets.Folder, p *manifests.Plan, s manifests.ShardPlan) (manifests.Result, bool) {
	r, err := ReadResult(folder, s.Name)
	if err != nil || len(r.Made)+len(r.Rejects) != s.Clips || (r.Shard != nil) != (p.Mel != nil && len(r.Made) > 0) {
		return r, false
	}
	if r.Shard != nil && shards.Check(folder.Path(r.Shard.File), *r.Shard) != nil {
		return r, false
	}
	for _, m := range r.Made {
		if st, err := os.Stat(folder.Path(m.Audio)); err != nil || st.Size() != m.Bytes {
			return r, false
		}
		f.progress.clip(m.Samples)
	}
	f.progress.reject(len(r.Rejects))
	r.Cost = manifests.Cost{} // this run did not pay it
	for i := range r.Made {
		r.Made[i].Spoken, r.Made[i].Augmented = false, false
	}
	return r, true
}

// ReadResult reads the result that marks the shard of that name as complete.
func ReadResult(folder datasets.Folder, name string) (manifests.Result, error) {
	var r manifests.Result
	path := folder.Path(datasets.ResultFile(name))
	b, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != manifests.ResultVersion || r.Name != name {
		return r, fmt.Errorf("%s: version %d of shard %q, not version %d of %q", path, r.Version, r.Name, manifests.ResultVersion, name)
	}
	return r, nil
}

func writeResult(folder datasets.Folder, r *manifests.Result) error {
	return commit.File("result", folder.Path(datasets.ResultFile(r.Name)), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(r)
	})
}

// readItems reads the shard's part of the items file. Lines in between that
// need no work belong to no shard and are passed over.
func readItems(folder datasets.Folder, p *manifests.Plan, s manifests.ShardPlan) ([]manifests.Item, error) {
	f, err := os.Open(folder.Path(p.Items))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the workers must see the same folder as the planner", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	items := make([]manifests.Item, 0, s.Clips)
	for it, err := range manifests.Items(io.NewSectionReader(f, s.Offset, s.Bytes), f.Name()) {
		if err != nil {
			return nil, err
		}
		if it.State == manifests.StateNew && it.Shard == s.Index {
			items = append(items, it)
		}
	}
	if len(items) != s.Clips {
		return nil, fmt.Errorf("%s holds %d clips for shard %s, the plan says %d", f.Name(), len(items), s.Name, s.Clips)
	}
	return items, nil
}

// group runs work for the items 0 to n-1 on at most limit goroutines and stops
// at the first error. A panic becomes an error: it must not end the process,
// which a runner may share with other work.
func group(ctx context.Context, n, limit int, work func(ctx context.Context, i int) error) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		if within.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("internal error: %v", r)
				}
			}()
			return work(within, i)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err() // a group that was stopped from outside is not complete
}
