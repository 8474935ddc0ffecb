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

// tally is what is counted of a shard, without the details of its result.
type tally struct {
	name                                             string
	clips, spoken, augmented, rejects, frames, bytes int64
	millis, shortest, longest                        int64 // of all clips together, and of single ones
	cost                                             manifests.Cost
}

// tallyOf counts a result.
func tallyOf(r *manifests.Result, rate int) tally {
	t := tally{name: r.Name, clips: int64(len(r.Made)), rejects: int64(len(r.Rejects)), cost: r.Cost}
	for i, c := range r.Made {
		ms := int64(c.Samples) * 1000 / int64(rate)
		t.millis += ms
		t.longest = max(t.longest, ms)
		if i == 0 || ms < t.shortest {
			t.shortest = ms
		}
		if c.Spoken {
			t.spoken++
		}
		if c.Augmented {
			t.augmented++
		}
		if c.Spoken || c.Augmented {
			t.bytes += c.Bytes
		}
	}
	if r.Shard != nil {
		t.frames, t.bytes = r.Shard.Frames, t.bytes+r.Shard.Bytes
	}
	return t
}

// add counts one shard.
func (m *metrics) add(ctx context.Context, t *tally) {
	m.clips.Inc(ctx, t.clips)
	m.rejects.Inc(ctx, t.rejects)
	m.millis.Inc(ctx, t.millis)
	m.spoken.Inc(ctx, t.spoken)
	m.augmented.Inc(ctx, t.augmented)
	m.frames.Inc(ctx, t.frames)
	m.bytes.Inc(ctx, t.bytes)
	if t.clips > 0 {
		m.clipMS.Update(ctx, t.shortest)
		m.clipMS.Update(ctx, t.longest)
	}
	m.speech.Update(ctx, int64(t.cost.Speech*1000))
	m.hear.Update(ctx, int64(t.cost.Hear*1000))
	m.wav.Update(ctx, int64(t.cost.Wav*1000))
	m.mel.Update(ctx, int64(t.cost.Mel*1000))
	m.write.Update(ctx, int64(t.cost.Write*1000))
}
