package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
)

// flow sends clips through an engine from many callers.
type flow struct {
	Mel
	samples int // of a clip
	clip    func(i int) source
	only    bool          // read, and compute nothing
	turns   chan struct{} // of the readers: more than one a core keep each other from finishing
}

// source is where the samples of a clip come from: a wav, or memory.
type source struct {
	path    string
	samples []int16
}

// spent is what went through, and the callers' time, in nanoseconds.
type spent struct{ clips, read, compute, write atomic.Int64 }

// measure is what work spent, for each second that it took.
func (f *flow) measure(work func(*spent, time.Time) error) (Rate, error) {
	var s spent
	before, start := f.busy(), time.Now()
	err := work(&s, start)
	took := time.Since(start)
	per := func(n *atomic.Int64) float64 { return float64(n.Load()) / float64(took) }
	r := Rate{Clips: float64(s.clips.Load()) / took.Seconds(), Read: per(&s.read), Compute: per(&s.compute), Write: per(&s.write)}
	r.Bytes = r.Clips * 2 * float64(f.samples)
	for what, d := range f.busy() {
		if r.Device == nil {
			r.Device = map[string]float64{}
		}
		r.Device[what] = float64(d-before[what]) / float64(took)
	}
	return r, err
}

// busy is how long the engine's devices have worked, if it knows.
func (f *flow) busy() map[string]time.Duration {
	if e, ok := f.Engine.(timed); ok {
		return e.Busy()
	}
	return nil
}

// over says whether the time for a measurement is up.
func (f *flow) over(start time.Time) bool { return time.Since(start).Seconds() >= f.Seconds }

// run sends clips through until the time is over. No caller waits for another.
func (f *flow) run(ctx context.Context) (Rate, error) {
	return f.measure(func(cost *spent, start time.Time) error {
		var next atomic.Int64
		g, ctx := errgroup.WithContext(ctx)
		for range f.Workers {
			g.Go(func() error {
				for first := true; first || !f.over(start); first = false {
					if err := f.one(ctx, int(next.Add(1)), cost, nil); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return g.Wait()
	})
}

// runShards sends clips through and into shards until the time is over. While one
// shard is synced the callers of the others go on; there are twice as many as
// elsewhere, for those of a shard that is synced are idle. It also says how many
// bytes a shard has.
func (f *flow) runShards(ctx context.Context, dir string, writers, frames int) (Rate, int64, error) {
	var size atomic.Int64
	r, err := f.measure(func(cost *spent, start time.Time) error {
		g, ctx := errgroup.WithContext(ctx)
		for w := range writers {
			g.Go(func() error {
				path := filepath.Join(dir, fmt.Sprintf("shard-%d.h5", w))
				for first := true; first || !f.over(start); first = false {
					n, err := f.shard(ctx, path, max(1, 2*f.Workers/writers), frames, cost)
					if err != nil {
						return err
					}
					size.Store(n)
				}
				return nil
			})
		}
		return g.Wait()
	})
	return r, size.Load(), err
}

// shard fills one shard from several callers, in place of the one before it, and
// says how large it is.
func (f *flow) shard(ctx context.Context, path string, callers, frames int, cost *spent) (int64, error) {
	keys, lengths := make([]string, shardClips), make([]int, shardClips)
	for i := range keys {
		keys[i], lengths[i] = fmt.Sprintf("%064x", i), frames
	}
	w, err := shards.Create(path, f.Engine.Config(), keys, lengths)
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	g, within := errgroup.WithContext(ctx)
	for range callers {
		g.Go(func() error {
			for row := int(next.Add(1)) - 1; row < shardClips; row = int(next.Add(1)) - 1 {
				if err := f.one(within, row, cost, func(m mel.Mel) error { return w.Put(row, m) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	begin := time.Now()
	made, err := w.Commit()
	cost.write.Add(int64(time.Since(begin)))
	return made.Bytes, err
}

// one takes one clip from its source to where it goes, if anywhere.
func (f *flow) one(ctx context.Context, i int, cost *spent, to func(mel.Mel) error) error {
	begin := time.Now()
	lap := func(of *atomic.Int64) {
		now := time.Now()
		of.Add(int64(now.Sub(begin)))
		begin = now
	}
	place, err := f.fill(ctx, f.clip(i))
	lap(&cost.read)
	if err != nil {
		return err
	}
	defer place.Release()
	cost.clips.Add(1)
	if f.only {
		return nil
	}
	frames, err := place.Compute(ctx)
	lap(&cost.compute)
	if err == nil && to != nil {
		err = to(frames)
		lap(&cost.write)
	}
	return err
}

// fill has the engine make room for a clip and fills it. Who waits for room keeps
// nobody from reading.
func (f *flow) fill(ctx context.Context, s source) (mel.Clip, error) {
	if s.path == "" {
		place, err := f.Engine.Clip(ctx, len(s.samples))
		if err == nil {
			f.turns <- struct{}{}
			copy(place.Samples(), s.samples)
			<-f.turns
		}
		return place, err
	}
	wav, err := audio.OpenWAV(s.path)
	if err != nil {
		return nil, err
	}
	defer wav.Close()
	place, err := f.Engine.Clip(ctx, wav.Samples())
	if err != nil {
		return nil, err
	}
	f.turns <- struct{}{}
	err = wav.ReadInto(place.Samples())
	<-f.turns
	if err != nil {
		place.Release()
		return nil, err
	}
	return place, nil
}
