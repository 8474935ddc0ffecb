package datasets

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// Index commits what a plan's results made: the manifest and the rejects in
// corpus order, then dataset.json. Until that last rename the dataset is what
// it was before.
func (f Folder) Index(p *manifests.Plan, results []manifests.Result) (*manifests.Dataset, error) {
	old, base, err := f.Load()
	if err != nil {
		return nil, err
	}
	if base != p.Base {
		return nil, fmt.Errorf("%s changed while this run was at work: run the same command again", f.dir)
	}
	ix := &indexer{folder: f, plan: p, mel: p.Mel, layout: p.Layout, clips: map[manifests.Key]*clip{}, rejects: map[manifests.Key]manifests.Reject{}}
	if err := ix.gather(old, results); err != nil {
		return nil, err
	}
	d, err := ix.write()
	if err != nil {
		return nil, err
	}
	b, err := d.Encode()
	if err != nil {
		return nil, err
	}
	err = commit.File("dataset", f.Path(IndexName), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	return d, err
}

// clip is what the indexer knows of a key.
type clip struct {
	audio string // "" for the place that follows from the key
	manifests.Clip
	shard, row, frames int // shard is -1 without a mel
	counted            bool
}

// indexer joins the plan's items with what is known of their keys.
type indexer struct {
	folder  Folder
	plan    *manifests.Plan
	mel     *mel.Config
	layout  manifests.Layout
	shards  []manifests.Shard
	used    []bool
	clips   map[manifests.Key]*clip
	rejects map[manifests.Key]manifests.Reject
	totals  manifests.Totals
	samples int64
}

// gather collects the clips of the dataset as it was and of the new results.
func (ix *indexer) gather(old *manifests.Dataset, results []manifests.Result) error {
	if old != nil {
		if ix.mel == nil {
			ix.mel, ix.layout = old.Mel, old.Layout // only wavs were made: the mels stay
		}
		byFile := map[string]int{}
		if old.HasShards(ix.mel, ix.layout) {
			ix.shards = slices.Clone(old.Shards)
			for i, s := range ix.shards {
				byFile[s.File] = i
			}
		}
		for e, err := range ix.folder.Entries(old) {
			if err != nil {
				return err
			}
			c := &clip{Clip: e.Clip, shard: -1}
			if e.Audio != WavFile(e.Key) {
				c.audio = e.Audio
			}
			if i, ok := byFile[e.Shard]; ok {
				c.shard, c.row, c.frames = i, e.Index, e.Frames
			}
			ix.clips[e.Key] = c
		}
	}
	slices.SortFunc(results, func(a, b manifests.Result) int { return cmp.Compare(a.Name, b.Name) })
	for _, r := range results {
		ix.gatherResult(r)
	}
	ix.used = make([]bool, len(ix.shards))
	return nil
}

func (ix *indexer) gatherResult(r manifests.Result) {
	shard := -1
	if r.Shard != nil {
		shard = len(ix.shards)
		ix.shards = append(ix.shards, *r.Shard)
	}
	clips := make([]clip, len(r.Made))
	for row, m := range r.Made {
		c := &clips[row]
		*c = clip{Clip: m.Clip, shard: shard, row: row, frames: m.Frames}
		if m.Audio != WavFile(m.Key) {
			c.audio = m.Audio
		}
		ix.clips[m.Key] = c
	}
	for _, rej := range r.Rejects {
		ix.rejects[*rej.Key] = rej
	}
}

// write makes the manifest and the rejects and the index that names them.
func (ix *indexer) write() (*manifests.Dataset, error) {
	items, err := os.Open(ix.folder.Path(ix.plan.Items))
	if err != nil {
		return nil, err
	}
	defer items.Close()
	manifest, err := ix.folder.newIndexFile(ManifestName)
	if err != nil {
		return nil, err
	}
	defer manifest.discard()
	rejects, err := ix.folder.newIndexFile(RejectsName)
	if err != nil {
		return nil, err
	}
	defer rejects.discard()
	for it, err := range manifests.Items(items, items.Name()) {
		if err != nil {
			return nil, err
		}
		if err := ix.place(&it, manifest.lines, rejects.lines); err != nil {
			return nil, err
		}
	}
	ix.totals.Rejects = rejects.lines.Lines()
	ix.totals.Entries = manifest.lines.Lines()
	ix.totals.Seconds = float64(ix.samples) / float64(ix.plan.Settings.Rate)

	d := &manifests.Dataset{
		Format: manifests.DatasetFormat, Version: ix.layout.DatasetVersion(),
		Settings: ix.plan.Settings, Mel: ix.mel, Layout: ix.layout, Totals: ix.totals, Shards: []manifests.Shard{},
	}
	for i, s := range ix.shards {
		if ix.used[i] {
			d.Shards = append(d.Shards, s)
		}
	}
	if err := ix.commit(manifest, rejects); err != nil {
		return nil, err
	}
	d.Manifest, d.Rejects = manifest.describe(), rejects.describe()
	return d, nil
}

// commit makes files of the index last. They are synced side by side and their
// folder once, before dataset.json names them.
func (ix *indexer) commit(files ...*indexFile) error {
	var g errgroup.Group
	for _, x := range files {
		g.Go(x.seal)
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, x := range files {
		if err := x.place(); err != nil {
			return err
		}
	}
	if err := commit.SyncDir(ix.folder.Path(indexDir)); err != nil {
		return err
	}
	for _, x := range files {
		if err := ix.folder.link(x.point()+"-link", x.file(), x.name); err != nil {
			return err
		}
	}
	return nil
}

// place writes one item where it belongs.
func (ix *indexer) place(it *manifests.Item, manifest, rejects *manifests.BulkWriter) error {
	if it.State == manifests.StateReject {
		return rejects.Write(it.Reject)
	}
	if r, ok := ix.rejects[it.Key]; ok {
		// The reason came from the utterance that was tried; this line may
		// be another one with the same key.
		r.Line, r.ID, r.Text = it.Line, it.ID, it.Text
		return rejects.Write(&r)
	}
	c, ok := ix.clips[it.Key]
	if !ok {
		return fmt.Errorf("line %d: clip %s was planned but nothing made it", it.Line, it.Key)
	}
	e := manifests.Entry{
		Audio: c.audio, Duration: float64(c.Samples) / float64(ix.plan.Settings.Rate), Text: it.Text, Spoken: it.Spoken,
		ID: it.ID, Line: it.Line, Key: it.Key, Lang: it.Lang, Voice: it.Voice, Speed: it.Speed, Pitch: it.Pitch,
		Base: it.Base, Augment: it.Augment, Clip: c.Clip,
	}
	if e.Audio == "" {
		e.Audio = WavFile(it.Key)
	}
	if c.shard >= 0 {
		ix.used[c.shard] = true
		e.Row = manifests.Row{Shard: ix.shards[c.shard].File, Index: c.row, Frames: c.frames}
	}
	if !c.counted {
		c.counted = true
		ix.totals.Clips++
		ix.totals.Frames += int64(c.frames)
	}
	ix.samples += int64(c.Samples)
	return manifest.Write(&e)
}
