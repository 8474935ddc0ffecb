package forge

import (
	"context"
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
			foreseen := c.Frames
			c.Frames = m.plan.Mel.Frames(c.Samples)
			m.stale = m.stale || c.Frames != foreseen
		}
		r.Made = append(r.Made, c.Made)
		made = append(made, c)
	}
	return made
}

// write writes what is not yet in the shard's file, and completes it. It calls
// leave when all mels are there, which the disk has yet to get: no core is needed
// for that.
func (m *making) write(ctx context.Context, made []*clip, leave func()) (*manifests.Shard, error) {
	start := time.Now()
	err := m.shape(made)
	m.cost.write.since(start, "shape")
	if err != nil {
		return nil, err
	}
	err = group(ctx, len(made), m.forge.jobs, func(ctx context.Context, i int) error { return m.put(ctx, made[i], i) })
	if err != nil {
		return nil, err
	}
	m.memory.release()
	leave()
	start = time.Now()
	s, err := m.file.Commit()
	m.cost.write.since(start, "commit")
	if err != nil {
		return nil, err
	}
	s.File, s.Engine = datasets.ShardFile(m.shard.Name), m.forge.engine.Name()
	return &s, nil
}

// writers is how many rows are written at once. The system writes to a file one
// call at a time, and those who wait for that keep their cores busy; only rows
// that have to be padded first are worth more.
func (m *making) writers() int {
	if m.plan.Layout != manifests.Packed {
		return m.forge.jobs
	}
	return 2
}

// create starts the shard's file for these clips.
func (m *making) create(clips []*clip) (err error) {
	path := m.folder.Path(datasets.ShardFile(m.shard.Name))
	keys, texts, frames := make([]string, len(clips)), make([]string, len(clips)), make([]int, len(clips))
	for i, c := range clips {
		keys[i], texts[i], frames[i] = c.Key.String(), c.text, c.Frames
	}
	if m.plan.Layout == manifests.Padded {
		m.file, err = shards.CreatePadded(path, *m.plan.Mel, keys, texts, frames)
	} else {
		m.file, err = shards.Create(path, *m.plan.Mel, keys, frames)
	}
	return err
}

// put writes one clip's row if it is not in the file. What was not kept it
// computes.
func (m *making) put(ctx context.Context, c *clip, row int) error {
	if c.written {
		return nil
	}
	if c.kept {
		v := c.mel
		c.mel = mel.Mel{}
		return m.putMel(row, v)
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
	v, err := m.computed(ctx, place, c)
	if err != nil {
		return err
	}
	return m.putMel(row, v)
}

// putMel writes a row when it is its turn.
func (m *making) putMel(row int, v mel.Mel) error {
	m.puts <- struct{}{}
	defer func() { <-m.puts }()
	start := time.Now() // waiting is no cost of writing
	defer func() { m.cost.write.since(start, "row") }()
	return m.file.Put(row, v)
}

// samples reads those of a clip again.
func (m *making) samples(c *clip) ([]int16, error) {
	start := time.Now()
	defer func() { m.cost.wav.since(start, "read again") }()
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
