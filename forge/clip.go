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

// clip is an utterance on its way from the plan to a row.
type clip struct {
	manifests.Made
	text   string
	reject *manifests.Reject
	mel    mel.Mel
	kept   bool // whether mel is there; where memory was short it is computed later, from the wav
}

// keepValues bounds the mels, in FP16 values, that a shard keeps in memory until
// it is known which of its clips pass, and so where in the file each goes.
const keepValues = 128 << 20 / 2

// badSound is why a clip is rejected.
type badSound struct {
	stage          manifests.Stage
	reason, detail string
}

func (b *badSound) Error() string { return b.reason + ": " + b.detail }

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

// wantsMel says whether a clip of n samples is to be computed at once, and takes
// the memory for it.
func (m *making) wantsMel(n int) bool {
	c := m.plan.Mel
	return c != nil && n <= c.MaxSamples() && m.budget.Add(-int64(c.Frames(n)*c.NMels)) >= 0
}

// compute computes the mel of a clip whose samples are in place, and keeps it.
func (m *making) compute(ctx context.Context, place mel.Clip, c *clip) error {
	start := time.Now()
	defer func() { m.cost.mel.since(start) }()
	v, err := place.Compute(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Audio, err)
	}
	kept := m.memory.take(len(v.Frames))
	copy(kept, v.Frames)
	v.Frames = kept
	c.mel, c.kept = v, true
	return nil
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
	if !m.wantsMel(len(samples)) {
		return nil
	}
	place, err := m.reserve(ctx, samples)
	if err != nil {
		return err
	}
	defer place.Release()
	return m.compute(ctx, place, c)
}
