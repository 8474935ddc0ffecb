// Package pipelines draws the graphs, each on one screen.
package pipelines

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/transforms"
)

// Dataset carries out a plan:
//
//	ListShards ─► Reshuffle ─► MakeShards ─► Reshuffle ─► WriteIndex ─► Reshuffle ─► Drop
//	 references                 wavs, mels,   names        manifest.jsonl,
//	                            HDF5 files                 dataset.json
//
// The first Reshuffle lets a runner spread the shards over its workers. The
// others keep stages that take their time from being leaves: prism spins on a
// stage whose output goes nowhere.
func Dataset(s beam.Scope, job transforms.Job) {
	s = s.Scope("pipelines.Dataset")
	plan := transforms.ListShards(s, job)
	made := transforms.MakeShards(s, job, beam.Reshuffle(s, plan))
	totals := transforms.WriteIndex(s, job, beam.Reshuffle(s, made))
	transforms.Drop(s, beam.Reshuffle(s, totals))
}

// Summary is what a run did, from the pipeline's metrics.
type Summary struct {
	Clips        int64   `json:"clips"`     // made now
	Spoken       int64   `json:"spoken"`    // of these, not found as wavs
	Augmented    int64   `json:"augmented"` // of these, versions of a spoken clip
	Rejects      int64   `json:"rejects"`   // while being made
	AudioSeconds float64 `json:"audio_seconds"`
	Frames       int64   `json:"frames"`
	Bytes        int64   `json:"bytes_written"`
	// Cost is worker time by what it was spent on.
	Cost         manifests.Cost `json:"cost_seconds"`
	ShortestClip float64        `json:"shortest_clip_seconds"`
	LongestClip  float64        `json:"longest_clip_seconds"`
}

// Run carries out the plan that is saved in the job's folder on the named
// Beam runner.
func Run(ctx context.Context, runner string, job transforms.Job) (Summary, error) {
	p, s := beam.NewPipelineWithRoot()
	Dataset(s, job)
	res, err := beam.Run(ctx, runner, p)
	if err != nil {
		return Summary{}, fmt.Errorf("pipeline: %w", err)
	}
	return summarize(res), nil
}

// summarize reads the metrics of a finished run.
func summarize(res beam.PipelineResult) Summary {
	var s Summary
	if res == nil {
		return s // a runner that reports no metrics
	}
	q := res.Metrics().Query(func(m beam.MetricResult) bool { return m.Namespace() == transforms.Namespace })
	counters := map[string]int64{}
	for _, c := range q.Counters() {
		counters[c.Name()] += c.Result()
	}
	sums := map[string]float64{}
	for _, d := range q.Distributions() {
		v := d.Result()
		sums[d.Name()] += float64(v.Sum) / 1000
		if d.Name() == transforms.MetricClipMS {
			s.ShortestClip, s.LongestClip = float64(v.Min)/1000, float64(v.Max)/1000
		}
	}
	s.Clips, s.Rejects = counters[transforms.MetricClips], counters[transforms.MetricRejects]
	s.Spoken, s.Augmented = counters[transforms.MetricSpoken], counters[transforms.MetricAugmented]
	s.AudioSeconds = float64(counters[transforms.MetricMillis]) / 1000
	s.Frames, s.Bytes = counters[transforms.MetricFrames], counters[transforms.MetricBytes]
	s.Cost = manifests.Cost{
		Speech: sums[transforms.MetricSpeechMS], Hear: sums[transforms.MetricHearMS], Wav: sums[transforms.MetricWavMS],
		Mel: sums[transforms.MetricMelMS], Write: sums[transforms.MetricWriteMS],
	}
	return s
}
