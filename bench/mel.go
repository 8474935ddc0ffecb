package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
)

// Mel measures a mel engine with clips of one length: from memory, from wav
// files in the page cache, and from there into synced HDF5 shards.
type Mel struct {
	Engine  mel.Engine
	Folder  string  // for files, which are removed afterwards
	Clip    float64 // seconds of a clip; 0: the longest of the engine's configuration
	Seconds float64 // of each measurement; 0: 2
	Workers int     // callers at a time
}

// MelReport is what one run measured.
type MelReport struct {
	Engine string  `json:"engine"`
	Mel    string  `json:"mel"`
	Clip   float64 `json:"clip_seconds"`
	Memory Rate    `json:"memory"` // samples lie where the engine wants them
	Files  Rate    `json:"files"`  // samples come from wav files in the page cache
	Shards Rate    `json:"shards"` // the same, and frames go into HDF5 files that are synced
	Read   Raw     `json:"raw_read"`
	Write  Raw     `json:"raw_write"` // of as many bytes as a shard holds
}

// Rate is how fast clips went through, and where the callers' time went: in
// seconds of all of them together for each second that went by.
type Rate struct {
	Clips   float64 `json:"clips_per_second"`
	Read    float64 `json:"read"`
	Compute float64 `json:"compute"` // computing, and waiting for the engine
	Write   float64 `json:"write"`   // into HDF5, with the sync
}

// shardClips is how many clips a shard of the measurement has.
const shardClips = 128

// Run measures.
func (m Mel) Run(ctx context.Context) (MelReport, error) {
	cfg := m.Engine.Config()
	if m.Clip == 0 {
		m.Clip = float64(cfg.MaxSamples()) / float64(cfg.Rate)
	}
	if m.Seconds == 0 {
		m.Seconds = 2
	}
	n := int(m.Clip * float64(cfg.Rate))
	if n < 1 || n > cfg.MaxSamples() {
		return MelReport{}, fmt.Errorf("clips of %g s: %s takes up to %g s", m.Clip, cfg.Name, float64(cfg.MaxSamples())/float64(cfg.Rate))
	}
	r := MelReport{Engine: m.Engine.Name(), Mel: cfg.Name, Clip: m.Clip}
	dir, err := os.MkdirTemp(m.Folder, "melforge-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	wavs, err := MakeWavs(ctx, dir, shardClips, cfg.Rate, m.Clip, m.Clip)
	if err != nil {
		return r, err
	}
	if r.Read, err = RawRead(ctx, wavs.Paths, m.Workers); err != nil {
		return r, err
	}
	noise := makeNoise(n)
	if r.Memory, err = m.flow(ctx, func(int) source { return source{samples: noise} }, nil); err != nil {
		return r, err
	}
	files := func(i int) source { return source{path: wavs.Paths[i%len(wavs.Paths)]} }
	if r.Files, err = m.flow(ctx, files, nil); err != nil {
		return r, err
	}
	out := &shardRow{folder: dir, cfg: cfg, frames: cfg.Frames(n)}
	if r.Shards, err = m.flow(ctx, files, out); err != nil {
		return r, err
	}
	if r.Write, err = RawWrite(ctx, dir, out.bytes, 1, 1); err != nil {
		return r, err
	}
	return r, nil
}

// source is where the samples of a clip come from: a wav, or memory.
type source struct {
	path    string
	samples []int16
}

// into has the engine make room for the clip and fills it.
func (s source) into(ctx context.Context, e mel.Engine) (mel.Clip, error) {
	if s.path == "" {
		place, err := e.Clip(ctx, len(s.samples))
		if err == nil {
			copy(place.Samples(), s.samples)
		}
		return place, err
	}
	f, err := audio.OpenWAV(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	place, err := e.Clip(ctx, f.Samples())
	if err != nil {
		return nil, err
	}
	if err := f.ReadInto(place.Samples()); err != nil {
		place.Release()
		return nil, err
	}
	return place, nil
}

// flow sends clips through the engine until the time is over, a shard's worth
// at a time. With out, they go into shards.
func (m Mel) flow(ctx context.Context, clips func(i int) source, out *shardRow) (Rate, error) {
	var cost spent
	start := time.Now()
	for n := 0; ; {
		if err := m.round(ctx, clips, n, out, &cost); err != nil {
			return Rate{}, err
		}
		n += shardClips
		if took := time.Since(start).Seconds(); took >= m.Seconds {
			return Rate{
				Clips: float64(n) / took,
				Read:  cost.read.Seconds() / took, Compute: cost.compute.Seconds() / took, Write: cost.write.Seconds() / took,
			}, nil
		}
	}
}

// round sends one shard's worth of clips through.
func (m Mel) round(ctx context.Context, clips func(i int) source, first int, out *shardRow, cost *spent) error {
	if out != nil {
		if err := out.begin(); err != nil {
			return err
		}
	}
	var next atomic.Int64
	g, within := errgroup.WithContext(ctx)
	for range m.Workers {
		g.Go(func() error {
			for {
				row := int(next.Add(1)) - 1
				if row >= shardClips {
					return nil
				}
				if err := m.clip(within, clips(first+row), row, out, cost); err != nil {
					return err
				}
			}
		})
	}
	err := g.Wait()
	switch {
	case out == nil:
		return err
	case err != nil:
		return errors.Join(err, out.w.Abort())
	}
	defer cost.add(&cost.write, time.Now())
	return out.end()
}

// clip takes one clip from its source to its row.
func (m Mel) clip(ctx context.Context, s source, row int, out *shardRow, cost *spent) error {
	begin := time.Now()
	place, err := s.into(ctx, m.Engine)
	cost.add(&cost.read, begin)
	if err != nil {
		return err
	}
	defer place.Release()
	begin = time.Now()
	frames, err := place.Compute(ctx)
	cost.add(&cost.compute, begin)
	if err != nil || out == nil {
		return err
	}
	defer cost.add(&cost.write, time.Now())
	return out.w.Put(row, frames)
}

// spent adds up the callers' time.
type spent struct {
	mu                   sync.Mutex
	read, compute, write time.Duration
}

func (s *spent) add(to *time.Duration, since time.Time) {
	took := time.Since(since)
	s.mu.Lock()
	*to += took
	s.mu.Unlock()
}

// shardRow writes one shard after the other to the same name.
type shardRow struct {
	folder string
	cfg    mel.Config
	frames int
	w      *shards.Writer
	bytes  int64 // of the last one
}

func (s *shardRow) begin() (err error) {
	keys, frames := make([]string, shardClips), make([]int, shardClips)
	for i := range keys {
		keys[i], frames[i] = fmt.Sprintf("%064x", i), s.frames
	}
	s.w, err = shards.Create(filepath.Join(s.folder, "shard.h5"), s.cfg, keys, frames)
	return err
}

func (s *shardRow) end() error {
	made, err := s.w.Commit()
	s.bytes = made.Bytes
	return err
}
