package main

import (
	"context"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer"
	"github.com/melforge/melforge/trainer/loop"
	"github.com/melforge/melforge/trainer/whisper"
)

// listener transcribes with Whisper, one decoder a language.
type listener struct {
	*whisperModel
	store    *model.Store
	batch    int
	decoders map[string]*whisper.Greedy
}

// transcriber writes down clips of a dataset, at most so many (0: all).
func (w *whisperModel) transcriber(store *model.Store, d *trainer.Dataset, batch, most int) func(context.Context) ([]transcript, error) {
	l := &listener{whisperModel: w, store: store, batch: batch, decoders: map[string]*whisper.Greedy{}}
	return func(ctx context.Context) ([]transcript, error) {
		var all []transcript
		o := trainer.LoaderOptions{Batch: batch, Frames: w.folder.Config.Frames(), Half: w.half}
		err := eachBatch(ctx, d, o, func(b *trainer.Batch) error {
			if most > 0 && len(all) >= most {
				return errEnough
			}
			heard, err := l.hear(b)
			all = append(all, heard...)
			return err
		})
		return all, err
	}
}

// hear transcribes a batch.
func (l *listener) hear(b *trainer.Batch) ([]transcript, error) {
	mels, err := loop.Mels(l.backend, padded(b, l.batch))
	if err != nil {
		return nil, err
	}
	defer mels.MustFinalizeAll()
	out := make([]transcript, b.Len())
	languages := make([]string, b.Len())
	for i := range out {
		c := b.Clip(i)
		languages[i] = l.labels.languageOf(c)
		out[i] = transcript{ID: c.ID, Text: c.Text}
	}
	for _, language := range slices.Compact(slices.Sorted(slices.Values(languages))) {
		tokens, err := l.decode(language, mels)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if languages[i] == language {
				out[i].Transcript = l.tokenizer.Decode(tokens[i])
			}
		}
	}
	return out, nil
}

func (l *listener) decode(language string, mels *tensors.Tensor) ([][]int32, error) {
	if l.decoders[language] == nil {
		prompt, err := l.tokenizer.Prompt(language)
		if err != nil {
			return nil, err
		}
		rules := l.folder.Rules(prompt)
		// A model that goes on and on says nothing that is right any more.
		rules.MaxLength = min(rules.MaxLength, max(len(prompt)+1, 64, l.labels.width(int(l.labels.longest.Load())+1)))
		if l.decoders[language], err = whisper.NewGreedy(l.backend, l.store, *l.model, rules); err != nil {
			return nil, err
		}
	}
	return l.decoders[language].Transcribe(mels)
}

// padded is a batch of exactly n clips, with silence after the last: another
// number would be another shape to compile.
func padded(b *trainer.Batch, n int) *trainer.Batch {
	if b.Len() >= n {
		return b
	}
	size := n * b.Mels * b.Width
	p := &trainer.Batch{Indices: make([]int, n), Mels: b.Mels, Width: b.Width}
	if b.Half != nil {
		p.Half = append(make([]uint16, 0, size), b.Half...)[:size]
	} else {
		p.Float = append(make([]float32, 0, size), b.Float...)[:size]
	}
	return p
}
