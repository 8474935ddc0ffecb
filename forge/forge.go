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
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/internal/timeline"
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
	queue    queue

	resampler audio.Resampler // keeps its filters
	slabs     sync.Pool       // of memory for mels
	saying    singleflight.Group
	early     sync.Map // wavs that were spoken for a version of theirs, and not yet counted as spoken

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
		queue: newQueue(jobs, engine != nil && engine.Name() != "cpu"), assets: map[assetsKey]*augment.Assets{},
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
	return f.make(ctx, folder, p, s, func() ([]manifests.Item, error) { return readItems(folder, p, s) })
}

// MakeItems is Make for a shard whose items are at hand, while the plan's file
// of them may not be there yet.
func (f *Forge) MakeItems(ctx context.Context, folder datasets.Folder, p *manifests.Plan, s manifests.ShardPlan, items []manifests.Item) (manifests.Result, error) {
	return f.make(ctx, folder, p, s, func() ([]manifests.Item, error) { return items, nil })
}

func (f *Forge) make(ctx context.Context, folder datasets.Folder, p *manifests.Plan, s manifests.ShardPlan, items func() ([]manifests.Item, error)) (r manifests.Result, err error) {
	if r, ok := f.resume(folder, p, s); ok {
		return r, nil
	}
	leave, err := f.queue.enter(ctx)
	if err != nil {
		return r, err
	}
	defer leave()
	start := time.Now()
	defer func() { timeline.Add("shards", "make", s.Name, start) }()
	todo, err := items()
	if err != nil {
		return r, err
	}
	m := f.newMaking(folder, p, s, todo)
	defer m.memory.release()
	defer func() {
		if err != nil {
			err = errors.Join(err, m.abandon())
		}
	}()
	if m.assets, err = f.assetsFor(p.Settings); err != nil {
		return r, err
	}
	if err := m.begin(ctx, todo); err != nil {
		return r, fmt.Errorf("shard %s: %w", s.Name, err)
	}
	if err := m.sounds(ctx, todo); err != nil {
		return r, err
	}
	return m.finish(ctx, leave)
}

// finish completes a shard whose clips are there.
func (m *making) finish(ctx context.Context, leave func()) (r manifests.Result, err error) {
	r = manifests.Result{Version: manifests.ResultVersion, Name: m.shard.Name, Made: []manifests.Made{}}
	made := m.settle(&r)
	if err := m.syncWavs(); err != nil {
		return r, err
	}
	if m.plan.Mel != nil && len(made) > 0 {
		if r.Shard, err = m.write(ctx, made, leave); err != nil {
			return r, fmt.Errorf("shard %s: %w", m.shard.Name, err)
		}
	} else if err := m.abandon(); err != nil {
		return r, err
	}
	r.Cost = m.cost.total()
	return r, writeResult(m.folder, &r)
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
