package forge

import (
	"context"
	"errors"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
)

// errUnheard says that a clip's length is not known before it is made.
var errUnheard = errors.New("there is no wav yet")

// begin starts the shard's file before its clips are read, as if all of them
// passed: then each mel goes to its row straight from the engine's memory, until
// one does not pass. It does nothing where a clip has yet to be spoken.
func (m *making) begin(ctx context.Context, items []manifests.Item) error {
	if m.plan.Mel == nil {
		return nil
	}
	err := group(ctx, len(items), m.forge.jobs, func(_ context.Context, i int) (err error) {
		m.clips[i].Frames, err = m.foresee(&items[i])
		return err
	})
	if errors.Is(err, errUnheard) {
		return nil
	}
	if err != nil {
		return err
	}
	all := make([]*clip, len(m.clips))
	for i := range m.clips {
		all[i] = &m.clips[i]
	}
	start := time.Now()
	defer func() { m.cost.write.since(start, "create") }()
	return m.create(all)
}

// foresee tells from the head of an item's wav how many frames it will have,
// none if it will not pass.
func (m *making) foresee(it *manifests.Item) (int, error) {
	start := time.Now()
	defer func() { m.cost.wav.since(start, "look ahead") }()
	path, given := it.Audio, it.Audio != ""
	if !given {
		path = m.folder.Path(datasets.WavFile(it.Key))
	}
	f, err := audio.OpenWAV(path)
	if err != nil && given {
		return 0, nil
	}
	if err != nil {
		return 0, errUnheard
	}
	defer f.Close()
	rate, n := m.plan.Settings.Rate, f.Samples()
	if !given && f.Rate() != rate {
		return 0, errUnheard
	}
	if !it.Part.IsZero() {
		n = it.Part.To - it.Part.From
	}
	if n = audio.Resampled(n, f.Rate(), rate); n > m.plan.Mel.MaxSamples() {
		return 0, nil
	}
	return m.plan.Mel.Frames(n), nil
}

// shape gives the shard's file the rows of the clips that passed, and no others.
// Where it was begun it has those already that came before the first reject; but
// where a wav has changed in the meantime it is begun again.
func (m *making) shape(made []*clip) error {
	if m.file != nil && !m.stale {
		rows := make([]int, len(made))
		for i, c := range made {
			rows[i] = c.row
		}
		return m.file.Keep(rows)
	}
	if err := m.abandon(); err != nil {
		return err
	}
	for _, c := range made {
		c.written = false
	}
	return m.create(made)
}

// abandon removes the file that was begun, if it was not committed.
func (m *making) abandon() error {
	if m.file == nil {
		return nil
	}
	return m.file.Abort()
}
