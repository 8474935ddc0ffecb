package main

import (
	"context"
	"errors"
	"io"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer"
)

// data is a dataset, and the part of it that is kept for evaluation.
type data struct {
	dir         string
	train, eval *trainer.Dataset // the same where nothing is kept out
}

// openData opens a dataset for training. What is wrong with it is a mistake in
// what was given.
func openData(dir string, t *trainFlags) (*data, error) {
	o := trainer.Options{Verify: t.verify}
	if t.badShards == "skip" {
		o.OnBadShard = trainer.Skip
	}
	all, err := trainer.Open(dir, o)
	if err != nil {
		return nil, terminal.Misuse(err)
	}
	train, eval := trainer.HoldOut(t.evalSplit, t.seed)
	held := 0
	for i := range all.Len() {
		if eval(all.Clip(i)) {
			held++
		}
	}
	if held == 0 {
		return &data{dir: dir, train: all, eval: all}, nil
	}
	clips := all.Len()
	if err := all.Close(); err != nil {
		return nil, err
	}
	if held == clips {
		return nil, terminal.Usagef("%s: --eval-split %g keeps all %d clips from training: use a smaller part", dir, t.evalSplit, held)
	}
	d := &data{dir: dir}
	o.Keep = train
	if d.train, err = trainer.Open(dir, o); err != nil {
		return nil, terminal.Misuse(err)
	}
	o.Keep = eval
	if d.eval, err = trainer.Open(dir, o); err != nil {
		d.close()
		return nil, terminal.Misuse(err)
	}
	return d, nil
}

// held is how many clips are kept for evaluation, 0 if none.
func (d *data) held() int {
	if d.eval == d.train {
		return 0
	}
	return d.eval.Len()
}

func (d *data) close() {
	for _, x := range []*trainer.Dataset{d.train, d.eval} {
		if x != nil {
			_ = x.Close() // only read
		}
	}
}

// errEnough ends eachBatch early, without an error.
var errEnough = errors.New("enough")

// eachBatch reads a dataset once, in its own order.
func eachBatch(ctx context.Context, d *trainer.Dataset, o trainer.LoaderOptions, use func(*trainer.Batch) error) error {
	o.Sequential, o.Fixed = true, true
	l, err := trainer.NewLoader(d, o)
	if err != nil {
		return err
	}
	defer l.Close()
	for {
		b, err := l.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = use(b)
		b.Release()
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
