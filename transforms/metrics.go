package transforms

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/melforge/melforge/manifests"
)

// metrics are the Beam metrics that carry the numbers of the summary.
type metrics struct {
	clips, spoken, augmented, rejects, millis, frames, bytes beam.Counter
	clipMS, speech, hear, wav, mel, write                    beam.Distribution
}

func newMetrics() metrics {
	counter := func(name string) beam.Counter { return beam.NewCounter(Namespace, name) }
	dist := func(name string) beam.Distribution { return beam.NewDistribution(Namespace, name) }
	return metrics{
		clips: counter(MetricClips), spoken: counter(MetricSpoken), augmented: counter(MetricAugmented), rejects: counter(MetricRejects),
		millis: counter(MetricMillis), frames: counter(MetricFrames), bytes: counter(MetricBytes),
		clipMS: dist(MetricClipMS), speech: dist(MetricSpeechMS), hear: dist(MetricHearMS), wav: dist(MetricWavMS),
		mel: dist(MetricMelMS), write: dist(MetricWriteMS),
	}
}

// add counts one shard.
func (m *metrics) add(ctx context.Context, r *manifests.Result, rate int) {
	m.clips.Inc(ctx, int64(len(r.Made)))
	m.rejects.Inc(ctx, int64(len(r.Rejects)))
	for _, c := range r.Made {
		ms := int64(c.Samples) * 1000 / int64(rate)
		m.millis.Inc(ctx, ms)
		m.clipMS.Update(ctx, ms)
		if c.Spoken {
			m.spoken.Inc(ctx, 1)
		}
		if c.Augmented {
			m.augmented.Inc(ctx, 1)
		}
		if c.Spoken || c.Augmented {
			m.bytes.Inc(ctx, c.Bytes)
		}
	}
	if r.Shard != nil {
		m.frames.Inc(ctx, r.Shard.Frames)
		m.bytes.Inc(ctx, r.Shard.Bytes)
	}
	m.speech.Update(ctx, int64(r.Cost.Speech*1000))
	m.hear.Update(ctx, int64(r.Cost.Hear*1000))
	m.wav.Update(ctx, int64(r.Cost.Wav*1000))
	m.mel.Update(ctx, int64(r.Cost.Mel*1000))
	m.write.Update(ctx, int64(r.Cost.Write*1000))
}
