package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/trainer/optim"
)

// Options say what a loop trains and how.
type Options struct {
	Backend   compute.Backend
	Store     *model.Store // of the model's variables, with values or without
	Model     Model
	Optimizer optim.AdamW
	Source    Source

	// Fingerprint tells models apart; a checkpoint with another is refused.
	Fingerprint string
	// Steps is where training ends, counted from the very beginning.
	Steps int
	// Inline takes every batch when it is needed instead of one ahead, as a loop
	// does that prepares its own data.
	Inline bool
	// Accumulate is how many batches of the source make one step; 0: one.
	Accumulate int

	// Dir is the folder for checkpoints and steps.jsonl; "": nothing is kept.
	Dir string
	// SaveEvery is the number of steps between checkpoints; 0: only at the end.
	SaveEvery int
	// Keep is how many of the newest checkpoints stay, besides the best; 0: one.
	Keep int

	// Evaluate gives the value of a metric, the smaller the better, and what a
	// report may want to know besides. nil: nothing is evaluated.
	Evaluate func(ctx context.Context) (name string, value float64, detail any, err error)
	// EvaluateEvery is the number of steps between evaluations; 0: only at the
	// end.
	EvaluateEvery int
	// Patience ends training after so many evaluations in a row that were no
	// better than the best; 0: never.
	Patience int
	// Target ends training at an evaluation that is at most this; nil: none.
	Target *float64

	// OnStep, OnEvaluation and OnCheckpoint are told what happened; each may be
	// nil.
	OnStep       func(Step)
	OnEvaluation func(Evaluation)
	OnCheckpoint func(path string, step int)
}

// ErrInterrupted is how Run ends when its context does. A checkpoint was
// written if there is a folder for it.
var ErrInterrupted = errors.New("interrupted")

// Loop is a run of training.
type Loop struct {
	opts    Options
	stepper *stepper
	saves   checkpoints
	journal *journal
	at      position
	saved   int       // the step of the newest checkpoint, -1 for none
	times   []float64 // of this run's steps
	summary Summary
}

// New prepares a run from the beginning.
func New(o Options) (*Loop, error) {
	switch {
	case o.Backend == nil || o.Store == nil || o.Model == nil || o.Source == nil:
		return nil, errors.New("a backend, a store, a model and a source of batches are needed")
	case o.Steps < 1:
		return nil, fmt.Errorf("%d steps: want at least 1", o.Steps)
	case o.Accumulate < 0 || o.SaveEvery < 0 || o.Keep < 0 || o.EvaluateEvery < 0 || o.Patience < 0:
		return nil, errors.New("accumulation, keeping, patience and intervals cannot be negative")
	}
	if err := o.Optimizer.Schedule.Validate(); err != nil {
		return nil, err
	}
	o.Accumulate = max(1, o.Accumulate)
	s, err := newStepper(o.Backend, o.Store, o.Model, o.Optimizer)
	if err != nil {
		return nil, err
	}
	return &Loop{
		opts: o, stepper: s, saves: checkpoints{dir: o.Dir, keep: o.Keep}, saved: -1,
		at: position{Version: formatVersion, Fingerprint: o.Fingerprint},
	}, nil
}

// Resume goes on from the last checkpoint in the loop's folder, and says at
// which step it stands.
func (l *Loop) Resume() (step int, err error) {
	x, err := l.saves.load()
	if err != nil {
		return 0, err
	}
	if x == nil || l.opts.Dir == "" {
		return 0, &NoCheckpoint{Dir: l.opts.Dir}
	}
	p, err := l.saves.restore(l.opts.Store, x.Last, l.opts.Fingerprint)
	if err != nil {
		return 0, err
	}
	if err := l.opts.Source.Resume(p.Source); err != nil {
		return 0, fmt.Errorf("%s: %w", l.saves.path(x.Last), err)
	}
	l.at, l.saved = p, p.Step
	l.at.Frozen, l.at.Order = nil, nil
	return p.Step, nil
}

// RestoreBest puts the variables of the best checkpoint into the store, if
// there is one.
func (l *Loop) RestoreBest() (found bool, err error) {
	x, err := l.saves.load()
	if err != nil || x == nil || x.Best == "" || l.opts.Dir == "" {
		return false, err
	}
	_, err = l.saves.restore(l.opts.Store, x.Best, l.opts.Fingerprint)
	return err == nil, err
}

// Steps are all steps of the run, also those before it was resumed.
func (l *Loop) Steps() []Step {
	if l.journal == nil {
		return nil
	}
	return l.journal.steps
}

// Evaluations are all of the run, also those before it was resumed.
func (l *Loop) Evaluations() []Evaluation { return l.at.Evaluations }

// Run trains until the last step, until it no longer gets better, or until ctx
// ends. In every case the last checkpoint is of the last step.
func (l *Loop) Run(ctx context.Context) (s Summary, err error) {
	l.journal = &journal{}
	if l.opts.Dir != "" {
		if l.journal, err = openJournal(l.opts.Dir, l.at.Step); err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, l.journal.close()) }()
	}
	start := time.Now()
	err = l.train(ctx)
	if err == nil || errors.Is(err, ErrInterrupted) {
		err = errors.Join(err, l.save(false))
	}
	l.summary.Wall = seconds(start)
	l.summary.Median = median(l.times)
	l.summary.Best = l.at.Best
	return l.summary, err
}

func (l *Loop) train(ctx context.Context) error {
	feed := startFeed(ctx, l.opts.Source, l.opts.Inline)
	defer feed.stop()
	for l.at.Step < l.opts.Steps {
		if err := l.step(ctx, feed); err != nil {
			if ctx.Err() != nil {
				l.summary.Stopped = "interrupted"
				return ErrInterrupted
			}
			return err
		}
		better, done, err := l.evaluate(ctx)
		if err != nil {
			return err
		}
		if better || due(l.at.Step, l.opts.SaveEvery) {
			if err := l.save(better); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
	}
	return nil
}

// step waits for the batches of a step and trains on them.
func (l *Loop) step(ctx context.Context, feed *feed) error {
	var batches []*Batch
	start := time.Now()
	for range l.opts.Accumulate {
		b, err := feed.next(ctx)
		if err != nil {
			return err
		}
		batches = append(batches, b)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	timeline.Add("training", "wait for data", "", start)
	x := Step{Step: l.at.Step + 1, Wait: seconds(start)}
	start = time.Now()
	before := l.stepper.spent
	o, err := l.stepper.step(batches)
	if err != nil {
		return fmt.Errorf("step %d: %w", x.Step, err)
	}
	if err := o.check(x.Step); err != nil {
		return err
	}
	for _, b := range batches {
		x.Samples += b.Samples
		x.HandOver += b.HandOver.Seconds()
		for _, t := range b.Inputs {
			if err := t.FinalizeAll(); err != nil {
				return err
			}
		}
	}
	x.Compile = (l.stepper.spent.compile - before.compile).Seconds()
	x.Device = (l.stepper.spent.device - before.device).Seconds()
	x.Work = seconds(start) - x.Compile
	timeline.Add("training", "step", "", start)
	l.times = append(l.times, x.Wait+x.Work)
	last := batches[len(batches)-1]
	x.Epoch, x.Loss, x.Rate, x.Norm = last.Epoch, o.Loss, o.Rate, o.Norm
	l.at.Step, l.at.Epoch, l.at.Source = x.Step, last.Epoch, last.State
	l.at.Samples += int64(x.Samples)
	l.summary.add(x)
	if err := l.journal.add(x); err != nil {
		return err
	}
	if l.opts.OnStep != nil {
		l.opts.OnStep(x)
	}
	return nil
}

func due(step, every int) bool { return every > 0 && step%every == 0 }

// evaluate looks at the model where that is due: whether it is the best so far,
// and whether training is over.
func (l *Loop) evaluate(ctx context.Context) (better, done bool, err error) {
	if l.opts.Evaluate == nil || !(due(l.at.Step, l.opts.EvaluateEvery) || l.at.Step == l.opts.Steps) {
		return false, false, nil
	}
	start := time.Now()
	e := Evaluation{Step: l.at.Step}
	if e.Name, e.Value, e.Detail, err = l.opts.Evaluate(ctx); err != nil {
		if ctx.Err() != nil {
			l.summary.Stopped = "interrupted"
			return false, false, ErrInterrupted
		}
		return false, false, fmt.Errorf("evaluate after step %d: %w", l.at.Step, err)
	}
	e.Seconds = seconds(start)
	timeline.Add("training", "evaluate", "", start)
	l.summary.Evaluate += e.Seconds
	e.Best = l.at.Best == nil || e.Value < l.at.Best.Value
	kept := e
	kept.Detail = nil
	l.at.Evaluations = append(l.at.Evaluations, kept)
	if e.Best {
		l.at.Best, l.at.Since = &kept, 0
	} else {
		l.at.Since++
	}
	if l.opts.OnEvaluation != nil {
		l.opts.OnEvaluation(e)
	}
	switch {
	case l.opts.Target != nil && e.Value <= *l.opts.Target:
		l.summary.Stopped = fmt.Sprintf("%s reached %.4g", e.Name, e.Value)
		return e.Best, true, nil
	case l.opts.Patience > 0 && l.at.Since >= l.opts.Patience:
		l.summary.Stopped = fmt.Sprintf("%s did not get better than %.4g in %d evaluations", e.Name, l.at.Best.Value, l.at.Since)
		return e.Best, true, nil
	}
	return e.Best, false, nil
}

// save writes a checkpoint of this step, unless there is one.
func (l *Loop) save(best bool) error {
	if l.opts.Dir == "" || l.at.Step == l.saved || l.at.Step == 0 {
		return nil
	}
	start := time.Now()
	path, err := l.saves.save(l.opts.Store, l.at, best)
	if err != nil {
		return err
	}
	l.saved = l.at.Step
	l.summary.Checkpoint = path
	l.summary.Save += seconds(start)
	timeline.Add("training", "checkpoint", "", start)
	if l.opts.OnCheckpoint != nil {
		l.opts.OnCheckpoint(path, l.at.Step)
	}
	return nil
}
