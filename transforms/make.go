// Package transforms holds the Beam composites and their DoFns. Only
// references cross between them: a shard of the plan goes in, the name of its
// result comes out; wavs and mels stay in files.
package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/manifests"
)

func init() {
	// Reflective registration: each generic one costs megabytes of binary and
	// seconds of build, to save microseconds on elements that take minutes.
	beam.RegisterType(reflect.TypeFor[manifests.ShardPlan]())
	beam.RegisterType(reflect.TypeFor[Made]())
	beam.RegisterDoFn(reflect.TypeFor[*listFn]())
	beam.RegisterDoFn(reflect.TypeFor[*makeFn]())
}

// Namespace is that of all metrics.
const Namespace = "melforge"

// Names of the metrics.
const (
	MetricClips     = "clips"     // counter: clips that passed
	MetricSpoken    = "spoken"    // counter: of these, spoken now
	MetricAugmented = "augmented" // counter: of these, versions of a spoken clip made now
	MetricRejects   = "rejects"   // counter: utterances rejected while being made
	MetricMillis    = "audio_ms"  // counter: length of the clips together
	MetricFrames    = "frames"    // counter: mel frames
	MetricBytes     = "bytes"     // counter: wav and shard bytes written
	MetricClipMS    = "clip_ms"   // distribution: length of the shortest and the longest clip of each shard
	MetricSpeechMS  = "cost_speech_ms"
	MetricHearMS    = "cost_hear_ms"
	MetricWavMS     = "cost_wav_ms"
	MetricMelMS     = "cost_mel_ms"
	MetricWriteMS   = "cost_write_ms" // distributions over shards: time spent
)

// Made says that a shard of the plan was made. The details are in its result
// file.
type Made struct {
	Name string
}

// Job is what the transforms need to know; it travels with the pipeline.
type Job struct {
	// Dir is the dataset's folder, which every worker must see.
	Dir string
	// Engine is what computes the mels, Jobs how many clips are worked on at
	// once in a process (0: as many as it has cores).
	Engine Engine
	Jobs   int
}

// ListShards gives the shards of the plan that is saved in the job's folder.
//
//	→ PCollection<manifests.ShardPlan>
//
// They are read when the pipeline runs: the graph stays the same size however
// large the plan is.
func ListShards(s beam.Scope, job Job) beam.PCollection {
	s = s.Scope("transforms.ListShards")
	return beam.ParDo(s, &listFn{Job: job}, beam.Impulse(s))
}

type listFn struct{ Job Job }

// ProcessElement reads the plan.
func (f *listFn) ProcessElement(_ []byte, emit func(manifests.ShardPlan)) error {
	plan, err := datasets.At(f.Job.Dir).LoadPlan()
	if err != nil {
		process.fail(err)
		return err
	}
	for _, s := range plan.Shards {
		emit(s)
	}
	return nil
}

// MakeShards makes shards of the plan.
//
//	PCollection<manifests.ShardPlan> → PCollection<Made>
//
// Some are in hand at a time: the forge lets the clips of a few shards through at
// a time, so that voices and engines work on the next one while the last is
// written and synced. Shards that this process began while they were planned are
// only waited for.
func MakeShards(s beam.Scope, job Job, shards beam.PCollection) beam.PCollection {
	s = s.Scope("transforms.MakeShards")
	return beam.ParDo(s, &makeFn{Job: job}, shards)
}

// inFlight is how many shards a bundle has in hand: the few whose clips are
// worked on, and those that are synced.
const inFlight = 8

// makeFn makes shards concurrently within a bundle. Results are emitted on the
// bundle's goroutine only: emitters and metrics belong to it.
type makeFn struct {
	Job Job

	folder  datasets.Folder
	plan    *manifests.Plan
	forge   *forge.Forge
	metrics metrics

	ctx     context.Context
	cancel  context.CancelFunc
	done    chan outcome
	pending int
}

type outcome struct {
	tally tally
	err   error
}

// Setup opens the plan and borrows the process's forge.
func (f *makeFn) Setup() error {
	f.folder = datasets.At(f.Job.Dir)
	var err error
	if f.plan, err = f.folder.LoadPlan(); err == nil {
		f.forge, err = process.forge(f.plan, f.Job.Engine, f.Job.Jobs)
	}
	if err != nil {
		process.fail(err)
		return err
	}
	f.metrics = newMetrics()
	return nil
}

// StartBundle begins with nothing in hand.
func (f *makeFn) StartBundle(ctx context.Context, _ func(Made)) {
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.done = make(chan outcome, inFlight)
	f.pending = 0
}

// ProcessElement starts a shard, waiting for an earlier one if its hands are full.
func (f *makeFn) ProcessElement(ctx context.Context, s manifests.ShardPlan, emit func(Made)) error {
	if f.pending == inFlight {
		if err := f.collect(ctx, emit); err != nil {
			return err
		}
	}
	f.pending++
	go func(ctx context.Context, done chan<- outcome) {
		t, err := process.make(ctx, f.forge, f.folder, f.plan, s)
		done <- outcome{t, err}
	}(f.ctx, f.done)
	return nil
}

// FinishBundle waits for what is still in hand.
func (f *makeFn) FinishBundle(ctx context.Context, emit func(Made)) error {
	defer f.cancel()
	for f.pending > 0 {
		if err := f.collect(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

// collect waits for one shard. After an error the others are stopped and
// awaited, so that nothing works on when the bundle is over.
func (f *makeFn) collect(ctx context.Context, emit func(Made)) error {
	o := <-f.done
	f.pending--
	if o.err != nil {
		process.fail(o.err)
		f.cancel()
		for ; f.pending > 0; f.pending-- {
			<-f.done
		}
		return o.err
	}
	f.metrics.add(ctx, &o.tally)
	emit(Made{Name: o.tally.name})
	return nil
}
