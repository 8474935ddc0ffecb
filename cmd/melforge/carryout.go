package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
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
	p, err := a.makePlan(ctx, j)
	if err != nil {
		return err
	}
	a.showPlan(j, p)
	if err := j.folder.SavePlan(p); err != nil {
		return err
	}
	a.ui.GoOn = commandLine(os.Args)
	sum, err := a.runPipeline(ctx, j, p)
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
	a.showSummary(j, p, d, sum)
	if lines := d.Totals.Entries + d.Totals.Rejects; j.limit.exceeded(d.Totals.Rejects, lines) {
		return &rejectsError{d.Totals.Rejects, lines, j.maxRejects, j.folder.Path(datasets.RejectsName)}
	}
	return nil
}

// runPipeline runs the Beam job with a progress line beside it.
func (a *app) runPipeline(ctx context.Context, j *job, p *manifests.Plan) (pipelines.Summary, error) {
	proc := transforms.Open(host(j.options.Voices, a.ui.Log))
	defer proc.Close()
	// Beam's local runner leaves a temporary file behind at every run.
	scratch, err := j.folder.Scratch()
	if err != nil {
		return pipelines.Summary{}, err
	}
	if err := os.Setenv("TMPDIR", scratch); err != nil {
		return pipelines.Summary{}, err
	}
	if err := initBeam(a.ui.Log); err != nil {
		return pipelines.Summary{}, err
	}
	show := a.showProgress(j, p, proc)
	sum, err := pipelines.Run(ctx, runner(), transforms.Job{
		Dir: j.folder.Dir(), Engine: j.chosen, Jobs: j.jobs,
	})
	show.stop()
	if err != nil {
		a.ui.Log.Debug().Err(err).Msg("the runner's own words")
		if first := proc.Err(); first != nil {
			err = first
		}
	}
	return sum, err
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
