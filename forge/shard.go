package forge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
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

// write writes the mels of all clips into the shard's file. Every length is
// known by now, so each row goes to its place.
func (m *making) write(ctx context.Context, made []*clip) (_ *manifests.Shard, err error) {
	file := datasets.ShardFile(m.shard.Name)
	start := time.Now()
	w, err := m.create(m.folder.Path(file), made)
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
		return m.put(ctx, made[i], i, w)
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

// create starts the shard's file.
func (m *making) create(path string, made []*clip) (*shards.Writer, error) {
	keys, texts, frames := make([]string, len(made)), make([]string, len(made)), make([]int, len(made))
	for i, c := range made {
		keys[i], texts[i], frames[i] = c.Key.String(), c.text, c.Frames
	}
	if m.plan.Layout == manifests.Padded {
		return shards.CreatePadded(path, *m.plan.Mel, keys, texts, frames)
	}
	return shards.Create(path, *m.plan.Mel, keys, frames)
}

// put writes one clip's row.
func (m *making) put(ctx context.Context, c *clip, row int, w *shards.Writer) error {
	if c.kept {
		start := time.Now()
		err := w.Put(row, c.mel)
		m.cost.write.since(start)
		c.mel = mel.Mel{}
		return err
	}
	samples, err := m.samples(c)
	if err != nil {
		return err
	}
	place, err := m.reserve(ctx, samples)
	if err != nil {
		return err
	}
	defer place.Release()
	start := time.Now()
	v, err := place.Compute(ctx)
	m.cost.mel.since(start)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Audio, err)
	}
	start = time.Now()
	defer func() { m.cost.write.since(start) }()
	return w.Put(row, v)
}

// samples reads those of a clip again.
func (m *making) samples(c *clip) ([]int16, error) {
	start := time.Now()
	defer func() { m.cost.wav.since(start) }()
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
