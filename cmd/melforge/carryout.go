package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/pipelines"
	"github.com/melforge/melforge/plan"
	"github.com/melforge/melforge/transforms"
)

// makePlan reads the corpus and decides.
func (a *app) makePlan(ctx context.Context, j *job) (*manifests.Plan, error) {
	tick := newTicker()
	j.options.Progress = func(lines int) {
		if tick.due() {
			a.ui.Status(fmt.Sprintf("planning: %d lines", lines))
		}
	}
	if j.remel {
		old, err := j.folder.MustLoad()
		if err != nil {
			return nil, err
		}
		// The wavs and what was rejected stay what they are.
		s := old.Settings
		s.ShardSize = j.shardSize
		if s.Rate != j.options.Settings.Rate {
			return nil, terminal.Usagef("--mel %s needs wavs at %d Hz, %s has them at %d Hz: run synth with --mel %s",
				j.mel, j.options.Settings.Rate, j.source, s.Rate, j.mel)
		}
		j.options.Settings = s
		return plan.Remel(ctx, j.folder, j.options)
	}
	r, err := corpus.Open(j.source, corpus.Options{Format: j.format})
	if err != nil {
		return nil, err
	}
	j.options.Settings.Format = r.Format()
	p, err := plan.Make(ctx, j.folder, r, j.options)
	return p, errors.Join(err, r.Close())
}

func (a *app) dryRun(ctx context.Context, j *job) error {
	p, err := a.makePlan(ctx, j)
	if err != nil {
		return err
	}
	a.showPlan(j, p)
	return nil
}

// carryOut locks the folder, plans, runs the pipeline and sums up.
func (a *app) carryOut(ctx context.Context, j *job) (err error) {
	if err := j.folder.Prepare(); err != nil {
		return err
	}
	lock, err := j.folder.Lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if j.repair {
		if err := a.mend(j); err != nil {
			return err
		}
	}
	if err := a.readyBeam(j); err != nil {
		return err
	}
	traced, err := a.ui.Trace(j.trace)
	if err != nil {
		return err
	}
	defer traced()
	proc := transforms.Open(host(j.options.Voices, a.ui.Log))
	p, sum, err := a.planAndRun(ctx, j, proc)
	// Nobody waits for the engine's end: all that it made is there, a GPU takes a
	// tenth of a second to let go, and its worker does not outlive this process.
	go func() { _ = proc.Close() }()
	if err != nil {
		return err
	}
	d, err := j.folder.MustLoad()
	if err != nil {
		return err
	}
	if err := j.folder.Finish(); err != nil {
		return err
	}
	traced()
	a.showSummary(j, p, d, sum, a.phases(proc.Times()))
	if lines := d.Totals.Entries + d.Totals.Rejects; j.limit.exceeded(d.Totals.Rejects, lines) {
		return &rejectsError{d.Totals.Rejects, lines, j.maxRejects, j.folder.Path(datasets.RejectsName)}
	}
	return nil
}

// readyBeam prepares Beam, before anything works beside it: the environment must
// not change then.
func (a *app) readyBeam(j *job) error {
	// Beam's local runner leaves a temporary file behind at every run.
	scratch, err := j.folder.Scratch()
	if err != nil {
		return err
	}
	if err := os.Setenv("TMPDIR", scratch); err != nil {
		return err
	}
	return initBeam(a.ui.Log)
}

// planAndRun makes the plan and carries it out. Where wavs are given and this
// process does the work, it begins with the first shard that is planned: the
// planner reads every wav. Speech takes so much longer than its plan that the
// user should see the whole plan first.
func (a *app) planAndRun(ctx context.Context, j *job, proc *transforms.Process) (*manifests.Plan, pipelines.Summary, error) {
	work := transforms.Job{Dir: j.folder.Dir(), Engine: j.chosen, Jobs: j.jobs}
	if !j.kind.speech && isLocal(runner()) {
		ahead := proc.Ahead(ctx, work)
		defer ahead.Stop()
		j.options.Follow = ahead
	}
	p, err := a.makePlan(ctx, j)
	if err != nil {
		if proc.Progress() != (forge.Snapshot{}) { // shards may have been made by now
			a.ui.GoOn = commandLine(os.Args)
		}
		return nil, pipelines.Summary{}, err
	}
	a.planned = time.Now()
	a.showPlan(j, p)
	if err := j.folder.SavePlan(p); err != nil {
		return nil, pipelines.Summary{}, err
	}
	a.ui.GoOn = commandLine(os.Args)
	show := a.showProgress(j, p, proc)
	sum, err := pipelines.Run(ctx, runner(), work)
	show.stop()
	if err != nil {
		a.ui.Log.Debug().Err(err).Msg("the runner's own words")
		if first := proc.Err(); first != nil {
			err = first
		}
	}
	return p, sum, err
}

// commandLine is what a person types to run this again.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, w := range args {
		if i == 0 && filepath.IsAbs(w) {
			w = filepath.Base(w)
		}
		if w == "" || strings.ContainsAny(w, " \t\n\"'`$&|;<>()*?[]#~\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}
