package plan

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/manifests"
)

const (
	// batchLines is how many lines pass from reading to deciding at a time.
	batchLines = 256
	// batchesAhead is how many batches are read, and their wavs hashed, before
	// the first of them is decided.
	batchesAhead = 4
)

// read is a line as the corpus has it.
type read struct {
	line corpus.Line
	bad  *corpus.BadLine
	path string // of its wav, where it has one to take
	wav  hashed
}

// batch is some lines on their way.
type batch struct {
	lines  []read
	end    error // why it is the last: io.EOF, or what went wrong
	hashes sync.WaitGroup
}

// batches reads the corpus and hashes its wavs on all cores, ahead of who
// decides. The caller ends it by stop, after which src is not used any more.
func (b *builder) batches(ctx context.Context, src Source) (ahead <-chan *batch, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan *batch, batchesAhead)
	go func() {
		defer close(out)
		turns := make(chan struct{}, max(8, 2*runtime.GOMAXPROCS(0))) // some wait for the disk
		for ctx.Err() == nil {
			t := b.nextBatch(src)
			b.hash(ctx, t, turns)
			select {
			case out <- t:
			case <-ctx.Done():
				t.hashes.Wait()
			}
			if t.end != nil {
				return
			}
		}
	}()
	return out, func() {
		cancel()
		for t := range out {
			t.hashes.Wait()
		}
	}
}

// nextBatch reads lines.
func (b *builder) nextBatch(src Source) *batch {
	t := &batch{lines: make([]read, 0, batchLines)}
	for len(t.lines) < batchLines {
		line, err := src.Next()
		var bad *corpus.BadLine
		if err != nil && !errors.As(err, &bad) {
			t.end = err
			break
		}
		r := read{line: line, bad: bad}
		if bad == nil && !b.opts.Speech && line.Audio != "" {
			if r.path, err = filepath.Abs(line.Audio); err != nil {
				t.end = err
				break
			}
		}
		t.lines = append(t.lines, r)
	}
	return t
}

// hash has the wavs of a batch hashed.
func (b *builder) hash(ctx context.Context, t *batch, turns chan struct{}) {
	for i := range t.lines {
		r := &t.lines[i]
		if r.path == "" {
			continue
		}
		turns <- struct{}{}
		t.hashes.Go(func() {
			defer func() { <-turns }()
			start := time.Now()
			if r.wav.err = ctx.Err(); r.wav.err == nil {
				r.wav.sum, r.wav.err = b.sums.file(r.path)
			}
			timeline.Add("plan", "hash", r.path, start)
		})
	}
}

// read takes in the whole corpus and closes the last shard.
func (b *builder) read(ctx context.Context, src Source) error {
	b.items = manifests.NewWriter(&b.counted)
	ahead, stop := b.batches(ctx, src)
	defer stop()
	for t := range ahead {
		t.hashes.Wait()
		if err := ctx.Err(); err != nil {
			return err // some may not be hashed
		}
		if t.end != nil && !errors.Is(t.end, io.EOF) {
			return t.end
		}
		for _, r := range t.lines {
			if b.plan.Counts.Lines++; b.plan.Counts.Lines%progressStep == 0 && b.opts.Progress != nil {
				b.opts.Progress(b.plan.Counts.Lines)
			}
			if err := b.take(ctx, r); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.plan.Counts.Lines == 0 {
		return errors.New("the corpus is empty: there is nothing to do")
	}
	if err := b.closeShard(); err != nil {
		return err
	}
	b.estimate()
	return b.out.Flush()
}

const progressStep = 1 << 10

// take decides one line.
func (b *builder) take(ctx context.Context, r read) error {
	switch {
	case r.bad != nil:
		return b.reject(corpus.Line{Number: r.bad.Number, ID: r.bad.ID}, manifests.StageCorpus, r.bad.Reason, r.bad.Detail)
	case b.opts.Speech:
		return b.addSpeech(ctx, r.line)
	}
	return b.addGiven(r)
}

// sumsFile is where the hashes of given wavs are remembered, beside the plan.
func sumsFile(folder datasets.Folder) string {
	return filepath.Join(filepath.Dir(folder.Path(datasets.ItemsFile())), "sums")
}
