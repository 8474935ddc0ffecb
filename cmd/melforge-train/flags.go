package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer"
	"github.com/melforge/melforge/trainer/optim"
)

// trainFlags are those that every training has.
type trainFlags struct {
	backendFlags
	out, trace                           string
	steps, epochs, accumulate            int
	batch                                string
	rate, clip, decay                    float64
	warmup, maxWarmup                    int
	schedule                             string
	evalSplit                            float64
	evalEvery, patience, saveEvery, keep int
	target                               float64
	seed                                 int64
	workers                              int
	badShards                            string
	verify, augment, resume              bool
}

func (t *trainFlags) add(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVarP(&t.out, "out", "o", "", "folder for checkpoints, the loss curve and transcripts")
	f.IntVar(&t.steps, "steps", t.steps, "steps to train for; 0: --epochs decides")
	f.IntVar(&t.epochs, "epochs", t.epochs, "passes over the dataset, where --steps does not say")
	f.StringVar(&t.batch, "batch", t.batch, "clips in a batch")
	f.IntVar(&t.accumulate, "accumulate", 1, "batches added up exactly for one step")
	f.Float64Var(&t.rate, "lr", t.rate, "peak of the learning rate")
	f.IntVar(&t.warmup, "warmup", -1, fmt.Sprintf("steps of linear rise to it; below 0: a tenth of all, at most %d", t.maxWarmup))
	f.StringVar(&t.schedule, "schedule", t.schedule, "after that: cosine, linear or constant")
	f.Float64Var(&t.clip, "clip", 1, "largest norm of the gradient; 0: no clipping")
	f.Float64Var(&t.decay, "weight-decay", t.decay, "AdamW's decay, which biases and norms are spared")
	f.Float64Var(&t.evalSplit, "eval-split", t.evalSplit, "part of the texts kept out of training for evaluation; 0: evaluate on what was trained")
	f.IntVar(&t.evalEvery, "eval-every", t.evalEvery, "steps between evaluations; 0: only at the end")
	f.IntVar(&t.patience, "patience", 0, "stop after so many evaluations without a better one; 0: never")
	f.Float64Var(&t.target, "target-wer", -1, "stop when the word error rate is at most this; below 0: never")
	f.IntVar(&t.saveEvery, "save-every", t.saveEvery, "steps between checkpoints; 0: only the best and the last")
	f.IntVar(&t.keep, "keep", 2, "newest checkpoints that stay, besides the best")
	f.BoolVar(&t.resume, "resume", false, "go on from the last checkpoint in --out, with the same flags")
	f.Int64Var(&t.seed, "seed", 1, "seed of the order, of new weights and of masks")
	f.BoolVar(&t.augment, "spec-augment", false, "mask stretches of time and frequency, anew in every epoch")
	f.IntVar(&t.workers, "workers", 0, "threads that read mels; 0: up to four")
	f.StringVar(&t.badShards, "bad-shards", "fail", "what becomes of damaged shards: fail or skip")
	f.StringVar(&t.trace, "trace", "", "write when it waited, trained, read and evaluated to this file, for Perfetto or Chrome to draw")
	f.BoolVar(&t.verify, "verify", false, "check every byte of the dataset first")
	t.backendFlags.add(f)
}

// check refuses values that mean nothing, before anything is opened.
func (t *trainFlags) check() error {
	switch {
	case t.out == "":
		return terminal.Usagef("say where the run is kept, as in --out run")
	case t.steps < 0 || t.epochs < 0 || t.steps == 0 && t.epochs == 0:
		return terminal.Usagef("--steps and --epochs: want one of them above 0")
	case t.accumulate < 1:
		return terminal.Usagef("--accumulate %d: want at least 1", t.accumulate)
	case t.evalSplit < 0 || t.evalSplit >= 1:
		return terminal.Usagef("--eval-split %g: want a part from 0 to below 1", t.evalSplit)
	case t.evalEvery < 0 || t.patience < 0 || t.saveEvery < 0 || t.keep < 0 || t.workers < 0 || t.clip < 0 || t.decay < 0:
		return terminal.Usagef("--eval-every, --patience, --save-every, --keep, --workers, --clip and --weight-decay cannot be negative")
	case t.badShards != "fail" && t.badShards != "skip":
		return terminal.Usagef("--bad-shards %s: want fail or skip", t.badShards)
	}
	if _, err := t.fixedBatch(); err != nil {
		return err
	}
	return nil
}

// fixedBatch is --batch as a number, 0 for auto.
func (t *trainFlags) fixedBatch() (int, error) {
	if t.batch == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(t.batch)
	if err != nil || n < 1 {
		return 0, terminal.Usagef("--batch %s: want a number of clips", t.batch)
	}
	return n, nil
}

// optimizer is AdamW with the flags' schedule over so many steps.
func (t *trainFlags) optimizer(steps int) (optim.AdamW, error) {
	s := optim.Schedule{Shape: optim.Shape(t.schedule), Rate: t.rate, Warmup: t.warmup, Total: steps}
	if s.Warmup < 0 {
		s.Warmup = min(steps/10, t.maxWarmup)
	}
	if err := s.Validate(); err != nil {
		return optim.AdamW{}, terminal.Misuse(err)
	}
	o := optim.New(s)
	o.Clip, o.Decay = t.clip, t.decay
	return o, nil
}

// loader are the options that all trainings share.
func (t *trainFlags) loader(batch, clips int) trainer.LoaderOptions {
	o := trainer.LoaderOptions{
		Batch: min(batch, clips), Seed: t.seed, Workers: t.workers,
		DropLast: true, // a smaller batch would be another shape to compile
	}
	if t.augment {
		a := trainer.DefaultSpecAugment()
		a.Seed = t.seed
		o.Augment = &a
	}
	return o
}

// checkpoints is the folder that a run's checkpoints are in.
func (t *trainFlags) checkpoints() string { return filepath.Join(t.out, "checkpoints") }

// commandLine is how to run this command again, with --resume.
func commandLine() string {
	words := []string{"melforge-train"}
	for _, w := range os.Args[1:] {
		if w == "--resume" {
			continue
		}
		if strings.ContainsAny(w, " \t\n'\"\\$*?[](){}<>|&;#~`") || w == "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(append(words, "--resume"), " ")
}
