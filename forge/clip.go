package forge

import (
	"context"
	"fmt"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// clip is an utterance on its way from the plan to a row. Its Frames are what is
// foreseen until it is settled.
type clip struct {
	manifests.Made
	text    string
	row     int // if all clips of the shard pass
	reject  *manifests.Reject
	direct  bool // the mel goes from the engine's memory to the file
	written bool // it is there
	mel     mel.Mel
	kept    bool // mel holds it; one that is neither is computed later, from the wav
}

// keepValues bounds the mels, in FP16 values, that a shard keeps in memory while
// it is not known where in the file they go.
const keepValues = 128 << 20 / 2

// badSound is why a clip is rejected.
type badSound struct {
	stage          manifests.Stage
	reason, detail string
}

func (b *badSound) Error() string { return b.reason + ": " + b.detail }

// badFile is an error of the shard's file, for which no clip is to blame.
type badFile struct{ error }

func (b *badFile) Unwrap() error { return b.error }

// judge measures a clip as it is stored and lets it through the gates, or not.
// The verdict depends on what is stored alone, so that a clip that is found is
// judged as it was when it was made.
func (m *making) judge(p audio.PCM, text string, c *clip) error {
	g := m.plan.Settings.Gates
	g.Trim, g.Loudness = false, 0
	if text == "" {
		g.MaxLeadingSilence, g.MaxTrailingSilence = 0, 0
	}
	_, facts, refused := g.Apply(p, text)
	if refused != nil {
		return &badSound{manifests.StageAudio, refused.Reason, refused.Detail}
	}
	c.Samples, c.Peak, c.RMS, c.Loudness = facts.Samples, facts.Peak, facts.RMS, facts.LUFS
	if most := m.plan.Mel; most != nil && facts.Samples > most.MaxSamples() {
		return &badSound{manifests.StageAudio, gates.TooLong, fmt.Sprintf("%.2f s do not fit %s", p.Seconds(), most.Name)}
	}
	return nil
}

// wantsMel says whether the mel of a clip of n samples is to be computed at once.
// It goes straight to the file that was begun as long as all clips pass; from
// then on memory is taken for it, if there is enough.
func (m *making) wantsMel(n int, c *clip) bool {
	cfg := m.plan.Mel
	if cfg == nil || n > cfg.MaxSamples() {
		return false
	}
	c.direct = m.file != nil && !m.gaps.Load()
	return c.direct || m.budget.Add(-int64(cfg.Frames(n)*cfg.NMels)) >= 0
}

// compute computes the mel of a clip whose samples are in place, and writes it
// from there, or keeps it.
func (m *making) compute(ctx context.Context, place mel.Clip, c *clip) error {
	v, err := m.computed(ctx, place, c)
	switch {
	case err != nil:
		return err
	case !c.direct:
		kept := m.memory.take(len(v.Frames))
		copy(kept, v.Frames)
		v.Frames = kept
		c.mel, c.kept = v, true
	case v.N == c.Frames: // or the wav has changed since that was foreseen
		if err := m.putMel(c.row, v); err != nil {
			return &badFile{err}
		}
		c.written = true
	}
	return nil
}

// computed is the mel of a clip whose samples are in place. It is the engine's
// memory until the place is released.
func (m *making) computed(ctx context.Context, place mel.Clip, c *clip) (mel.Mel, error) {
	start := time.Now()
	defer func() { m.cost.mel.since(start, "compute") }()
	v, err := place.Compute(ctx)
	if err != nil {
		return v, fmt.Errorf("%s: %w", c.Audio, err)
	}
	return v, nil
}

// reserve asks the engine for room and fills it.
func (m *making) reserve(ctx context.Context, samples []int16) (mel.Clip, error) {
	place, err := m.forge.engine.Clip(ctx, len(samples))
	if err != nil {
		return nil, err
	}
	copy(place.Samples(), samples)
	return place, nil
}

// computeFrom is compute for samples that are elsewhere.
func (m *making) computeFrom(ctx context.Context, samples []int16, c *clip) error {
	if !m.wantsMel(len(samples), c) {
		return nil
	}
	place, err := m.reserve(ctx, samples)
	if err != nil {
		return err
	}
	defer place.Release()
	return m.compute(ctx, place, c)
}
