package plan

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
)

// batchLines is how many lines are read before any is decided, so that their
// wavs are hashed on all cores.
const batchLines = 256

// read is a line as the corpus has it.
type read struct {
	line corpus.Line
	bad  *corpus.BadLine
	path string // of its wav, where it has one to take
	wav  hashed
}

// nextBatch reads lines and hashes their wavs. The last batch comes with io.EOF.
func (b *builder) nextBatch(ctx context.Context, src Source) ([]read, error) {
	batch := b.batch[:0]
	var end error
	for len(batch) < batchLines {
		line, err := src.Next()
		var bad *corpus.BadLine
		if err != nil && !errors.As(err, &bad) {
			if end = err; !errors.Is(err, io.EOF) {
				return nil, err
			}
			break
		}
		r := read{line: line, bad: bad}
		if bad == nil && !b.opts.Speech && line.Audio != "" {
			if r.path, err = filepath.Abs(line.Audio); err != nil {
				return nil, err
			}
		}
		batch = append(batch, r)
	}
	b.batch = batch
	if err := b.hash(ctx, batch); err != nil {
		return nil, err
	}
	return batch, end
}

// hash hashes the wavs of a batch.
func (b *builder) hash(ctx context.Context, batch []read) error {
	if b.opts.Speech {
		return nil
	}
	paths := make([]string, len(batch))
	for i := range batch {
		paths[i] = batch[i].path
	}
	hashes, err := b.sums.files(ctx, paths)
	if err != nil {
		return err
	}
	for i := range batch {
		batch[i].wav = hashes[i]
	}
	return nil
}

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
