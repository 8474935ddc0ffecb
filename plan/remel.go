package plan

import (
	"bufio"
	"context"
	"io"
	"iter"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
)

// Remel plans the mels of the clips that the dataset in folder already holds:
// its manifest is the corpus, and its rejects stay rejected.
func Remel(ctx context.Context, folder datasets.Folder, o Options) (*manifests.Plan, error) {
	old, err := folder.MustLoad()
	if err != nil {
		return nil, err
	}
	b, err := newBuilder(folder, o)
	if err != nil {
		return nil, err
	}
	read := func(w io.Writer) error {
		b.out = bufio.NewWriterSize(w, 1<<20)
		return b.readDataset(ctx, old)
	}
	if o.DryRun {
		err = read(io.Discard)
	} else {
		err = commit.File("items", folder.Path(datasets.ItemsFile()), read)
	}
	return b.plan, err
}

// readDataset merges entries and rejects by their corpus line, the order that
// both were written in.
func (b *builder) readDataset(ctx context.Context, old *manifests.Dataset) error {
	b.items = manifests.NewWriter(&b.counted)
	next, stop := iter.Pull2(b.folder.Rejects(old))
	defer stop()
	rej, err, more := next()
	flush := func(before int) error {
		for ; more && (before < 0 || rej.Line < before); rej, err, more = next() {
			if err != nil {
				return err
			}
			b.plan.Counts.Lines++
			if err := b.writeReject(rej); err != nil {
				return err
			}
		}
		return nil
	}
	for e, err := range b.folder.Entries(old) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := flush(e.Line); err != nil {
			return err
		}
		b.plan.Counts.Lines++
		it := manifests.Item{
			Line: e.Line, ID: e.ID, Text: e.Text, Spoken: e.Spoken, Key: e.Key, Lang: e.Lang,
			Voice: e.Voice, Speed: e.Speed, Pitch: e.Pitch, Base: e.Base, Augment: e.Augment,
		}
		if e.Audio != datasets.WavFile(e.Key) {
			it.Audio = b.folder.Path(e.Audio)
		}
		if err := b.place(it); err != nil {
			return err
		}
	}
	if err := flush(-1); err != nil {
		return err
	}
	if err := b.closeShard(); err != nil {
		return err
	}
	b.estimate()
	return b.out.Flush()
}
