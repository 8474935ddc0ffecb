package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/melforge/melforge/trainer"
	"github.com/melforge/melforge/trainer/hf"
	"github.com/melforge/melforge/trainer/loop"
	"github.com/melforge/melforge/trainer/whisper"
)

// widths are how many labels a batch may have room for: each is another shape to
// compile, and above 32 no batch gets more than half as much room again as it
// needs.
var widths = []int{32, 64, 96, 128, 192, 256, 320, 448}

// whisperModel is a Whisper with the labels of its clips.
type whisperModel struct {
	backend   compute.Backend
	folder    *hf.Folder
	tokenizer *hf.Tokenizer
	labels    *labels
	model     *whisper.Model
	half      bool // batches are float16
}

// labels are the tokens of the clips' texts.
type labels struct {
	tokenizer *hf.Tokenizer
	config    whisper.Config
	language  string

	known   sync.Map // of said to []int32
	longest atomic.Int64
}

// said is all that decides the labels of a clip.
type said struct{ text, language string }

func newLabels(t *hf.Tokenizer, c whisper.Config, language string) *labels {
	return &labels{tokenizer: t, config: c, language: language}
}

// languageOf is Whisper's code for a clip's language: "en" for "en-GB".
func (l *labels) languageOf(c trainer.Clip) string {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(c.Language), "_", "-"), "-")
	if code == "" {
		return l.language
	}
	return code
}

// of are the labels of a clip.
func (l *labels) of(c trainer.Clip) ([]int32, error) {
	key := said{c.Text, l.languageOf(c)}
	if v, ok := l.known.Load(key); ok {
		return v.([]int32), nil
	}
	tokens, err := l.tokenizer.Encode(key.text, key.language)
	if err == nil {
		err = l.config.Labels(tokens)
	}
	if err != nil {
		return nil, fmt.Errorf("clip %s: %w", c.ID, err)
	}
	for n := int64(len(tokens)); ; {
		old := l.longest.Load()
		if n <= old || l.longest.CompareAndSwap(old, n) {
			break
		}
	}
	l.known.Store(key, tokens)
	return tokens, nil
}

// encode makes the labels of all clips now, so that what cannot be trained on
// is known before the first step.
func (l *labels) encode(ctx context.Context, d *trainer.Dataset, progress func(done int)) error {
	var next, done atomic.Int64
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for errs[w] == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= d.Len() {
					return
				}
				_, errs[w] = l.of(d.Clip(i))
				if n := int(done.Add(1)); w == 0 {
					progress(n)
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err // one is enough, and the others may be many
		}
	}
	return nil
}

// width is the room for so many labels.
func (l *labels) width(n int) int {
	for _, w := range widths {
		if n <= w && w <= l.config.MaxTarget {
			return w
		}
	}
	return l.config.MaxTarget
}

// widest is the room for the longest labels that the dataset has.
func (w *whisperModel) widest() int { return w.labels.width(int(w.labels.longest.Load())) }

// prepare leaves the labels of a batch in its Value: [B, width], Ignored after
// a text's end.
func (w *whisperModel) prepare(b *trainer.Batch) error {
	all := make([][]int32, b.Len())
	longest := 0
	var errs []error
	for i := range all {
		var err error
		all[i], err = w.labels.of(b.Clip(i))
		errs = append(errs, err)
		longest = max(longest, len(all[i]))
	}
	width := w.labels.width(longest)
	flat := make([]int32, len(all)*width)
	for i := range flat {
		flat[i] = whisper.Ignored
	}
	for i, l := range all {
		copy(flat[i*width:(i+1)*width], l)
	}
	b.Value = flat
	return errors.Join(errs...)
}

// blank is a batch of silence with the longest labels that the dataset has.
func (w *whisperModel) blank(clips int) *loop.Batch {
	c := w.folder.Config
	mels := dtypes.Float32
	if w.half {
		mels = dtypes.Float16
	}
	labels := make([]int32, clips*w.widest())
	for i := range labels {
		labels[i] = int32(c.EndToken)
	}
	return &loop.Batch{Samples: clips, Inputs: []*tensors.Tensor{
		tensors.FromShape(shapes.Make(mels, clips, c.Mels, c.Frames())),
		tensors.FromFlatDataAndDimensions(labels, clips, len(labels)/clips),
	}}
}
