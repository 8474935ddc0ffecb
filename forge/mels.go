package forge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/shards"
)

// settle sorts the clips into made and rejected, in the plan's order.
func (m *making) settle(r *manifests.Result) []*clip {
	var made []*clip
	for i := range m.clips {
		c := &m.clips[i]
		if c.reject != nil {
			r.Rejects = append(r.Rejects, *c.reject)
			continue
		}
		if m.plan.Mel != nil {
			c.Frames = m.plan.Mel.Frames(c.Samples)
		}
		r.Made = append(r.Made, c.Made)
		made = append(made, c)
	}
	return made
}

// mels computes the mels of all clips into the shard's file. Every length is
// known by now, so each row is written in its place as it comes.
func (m *making) mels(ctx context.Context, made []*clip) (_ *manifests.Shard, err error) {
	keys, frames := make([]string, len(made)), make([]int, len(made))
	for i, c := range made {
		keys[i], frames[i] = c.Key.String(), c.Frames
	}
	file := datasets.ShardFile(m.shard.Name)
	start := time.Now()
	w, err := shards.Create(m.folder.Path(file), *m.plan.Mel, keys, frames)
	m.cost.write.since(start)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	err = group(ctx, len(made), m.forge.jobs, func(ctx context.Context, i int) error {
		return m.mel(ctx, made[i], i, w)
	})
	if err != nil {
		return nil, err
	}
	start = time.Now()
	s, err := w.Commit()
	m.cost.write.since(start)
	if err != nil {
		return nil, err
	}
	s.File, s.Engine = file, m.forge.engine.Name()
	return &s, nil
}

// mel computes one clip into its row.
func (m *making) mel(ctx context.Context, c *clip, row int, w *shards.Writer) error {
	start := time.Now()
	samples, err := m.samples(c)
	if err != nil {
		return err
	}
	place, err := m.forge.engine.Clip(ctx, len(samples))
	if err != nil {
		return err
	}
	defer place.Release()
	copy(place.Samples(), samples)
	c.samples = nil
	mel, err := place.Compute(ctx)
	m.cost.mel.since(start)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Audio, err)
	}
	start = time.Now()
	err = w.Put(row, mel)
	m.cost.write.since(start)
	if err == nil && m.countsMels() {
		m.forge.progress.clip(c.Samples)
	}
	return err
}

// samples gives the clip's samples, reading them again if they were not kept.
func (m *making) samples(c *clip) ([]int16, error) {
	if c.samples != nil {
		return c.samples, nil
	}
	pcm, err := audio.ReadWAV(m.folder.Path(c.Audio))
	if err != nil {
		return nil, err
	}
	pcm = m.forge.resampler.Resample(pcm, m.plan.Settings.Rate)
	if len(pcm.Samples) != c.Samples {
		return nil, fmt.Errorf("%s changed while it was read: %d samples, then %d", c.Audio, c.Samples, len(pcm.Samples))
	}
	return pcm.Samples, nil
}
