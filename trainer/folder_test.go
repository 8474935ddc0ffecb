package trainer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
)

// folder makes a dataset as the pipeline does, with drawn values for mels.
type folder struct {
	t      testing.TB
	dir    string
	cfg    mel.Config
	layout manifests.Layout
	size   int // clips in a shard
	items  []manifests.Item
	mels   []mel.Mel // as items
	made   int       // shards
}

func newFolder(t testing.TB) *folder {
	t.Helper()
	cfg, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	return &folder{t: t, dir: t.TempDir(), cfg: cfg, size: 5}
}

// fresh is a dataset of clips with so many frames.
func fresh(t testing.TB, frames ...int) *folder {
	t.Helper()
	f := newFolder(t)
	f.add(frames...)
	return f
}

// lengths draws the frames of n clips.
func lengths(n, most int) []int {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	frames := make([]int, n)
	for i := range frames {
		frames[i] = 1 + r.IntN(most)
	}
	return frames
}

// drawn is a mel of finite values that depend on seed alone.
func drawn(cfg mel.Config, seed, frames int) mel.Mel {
	r := rand.New(rand.NewPCG(1, uint64(seed)))
	m := mel.Mel{N: frames, NMels: cfg.NMels, Frames: make([]uint16, frames*cfg.NMels), Pad: finite(r)}
	for i := range m.Frames {
		m.Frames[i] = finite(r)
	}
	return m
}

func finite(r *rand.Rand) uint16 {
	return uint16(r.IntN(2))<<15 | uint16(r.IntN(0x4800)) // up to 8
}

// add appends clips, in new shards.
func (f *folder) add(frames ...int) {
	f.t.Helper()
	mels := make([]mel.Mel, len(frames))
	for i, n := range frames {
		mels[i] = drawn(f.cfg, len(f.items)+i, n)
	}
	f.addMels(mels...)
}

func (f *folder) addMels(mels ...mel.Mel) {
	f.t.Helper()
	for i := range f.items {
		f.items[i].State = manifests.StateDone
	}
	for _, m := range mels {
		n := len(f.items)
		f.items = append(f.items, manifests.Item{
			State: manifests.StateNew, Line: n + 1, ID: fmt.Sprintf("clip-%d", n), Text: fmt.Sprintf("Text %d, “quoted”.", n),
			Key: manifests.NewKey(fmt.Sprint(n)), Lang: []string{"en", "de"}[n%2], Voice: "drawn",
		})
		f.mels = append(f.mels, m)
	}
	f.index()
}

// index writes the shards of the new items, and the index.
func (f *folder) index() {
	f.t.Helper()
	place := datasets.At(f.dir)
	check(f.t, place.Prepare())
	var results []manifests.Result
	first := 0
	for first < len(f.items) && f.items[first].State == manifests.StateDone {
		first++
	}
	for ; first < len(f.items); first += f.size {
		results = append(results, f.shard(first, min(first+f.size, len(f.items))))
	}
	var text strings.Builder
	w := manifests.NewWriter(&text)
	for i := range f.items {
		check(f.t, w.Write(&f.items[i]))
	}
	check(f.t, os.WriteFile(place.Path(datasets.ItemsFile()), []byte(text.String()), 0o644))
	_, base, err := place.Load()
	check(f.t, err)
	p := &manifests.Plan{
		Version: manifests.PlanVersion, Items: datasets.ItemsFile(), Base: base, Mel: &f.cfg, Layout: f.layout,
		Settings: manifests.Settings{Rate: f.cfg.Rate, ShardSize: f.size},
	}
	_, err = place.Index(p, results)
	check(f.t, err)
}

func (f *folder) shard(first, end int) manifests.Result {
	f.t.Helper()
	var keys, texts []string
	var frames []int
	for i := first; i < end; i++ {
		keys = append(keys, f.items[i].Key.String())
		texts = append(texts, f.items[i].Text)
		frames = append(frames, f.mels[i].N)
	}
	name := fmt.Sprintf("%05d-drawn", f.made)
	f.made++
	path := filepath.Join(f.dir, datasets.ShardFile(name))
	w, err := shards.Create(path, f.cfg, keys, frames)
	if f.layout == manifests.Padded {
		w, err = shards.CreatePadded(path, f.cfg, keys, texts, frames)
	}
	if err != nil && strings.Contains(err.Error(), "can only read shards") {
		f.t.Skip(err)
	}
	check(f.t, err)
	r := manifests.Result{Version: manifests.ResultVersion, Name: name}
	for i := first; i < end; i++ {
		check(f.t, w.Put(i-first, f.mels[i]))
		samples := f.mels[i].N * f.cfg.Hop
		r.Made = append(r.Made, manifests.Made{
			Key: f.items[i].Key, Audio: datasets.WavFile(f.items[i].Key), Frames: f.mels[i].N,
			Clip: manifests.Clip{Samples: samples, CRC32C: "00000000"},
		})
	}
	s, err := w.Commit()
	check(f.t, err)
	s.File, s.Engine = datasets.ShardFile(name), "cpu"
	r.Shard = &s
	return r
}

// open opens the dataset until the end of the test.
func (f *folder) open(opts Options) *Dataset {
	f.t.Helper()
	d, err := Open(f.dir, opts)
	check(f.t, err)
	f.t.Cleanup(func() { check(f.t, d.Close()) })
	return d
}

// shardPath is the file of a shard.
func (f *folder) shardPath(n int) string {
	return filepath.Join(f.dir, "shards", fmt.Sprintf("%05d-drawn.h5", n))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError fails unless err says all of parts.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("error %v, want %q in it", err, p)
			return
		}
	}
}
