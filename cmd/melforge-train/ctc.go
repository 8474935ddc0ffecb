package main

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer"
	"github.com/melforge/melforge/trainer/ctc"
	"github.com/melforge/melforge/trainer/loop"
)

// ctcFlags are those of the small model.
type ctcFlags struct {
	trainFlags
	units                        string
	width, blocks, kernel, stack int
}

func (a *app) ctcCommand() *cobra.Command {
	fl := &ctcFlags{trainFlags: trainFlags{
		steps: 400, batch: "8", rate: 3e-3, maxWarmup: 20, schedule: "cosine", decay: 0.01, evalEvery: 25, saveEvery: 100,
	}}
	cmd := &cobra.Command{
		Use: "ctc DATASET", Short: "Train a small recogniser of its own, on a CPU if need be",
		Long: `Trains convolutions with the CTC loss on the mels of DATASET from scratch, and
transcribes: a model for small vocabularies that learns within a minute on a
CPU, to see that a dataset can be learned from.

` + exitHelp,
		Example: `  melforge-train ctc dataset --out run
  melforge-train ctc dataset --out run --units words --eval-split 0.1 --patience 5
  melforge-train ctc dataset --out run --resume`,
		Args: terminal.OneArg("dataset"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.trainCTC(cmd.Context(), fl, args[0]) },
	}
	f := cmd.Flags()
	fl.trainFlags.add(f)
	f.StringVar(&fl.units, "units", string(ctc.Characters), "what the model writes: characters or words")
	f.IntVar(&fl.width, "width", 0, "values in a frame of the model (0: 64)")
	f.IntVar(&fl.blocks, "blocks", 0, "convolutions with a residual, 1, 2, 4 and 8 frames apart (0: 5)")
	f.IntVar(&fl.kernel, "kernel", 0, "frames that a convolution takes, an odd number (0: 3)")
	f.IntVar(&fl.stack, "stack", 0, "mel frames that become one frame of the model (0: as many as the texts allow, up to 4)")
	return cmd
}

// trainCTC is ctc.
func (a *app) trainCTC(ctx context.Context, fl *ctcFlags, dir string) error {
	if err := fl.check(); err != nil {
		return err
	}
	batch, err := fl.fixedBatch()
	if err != nil {
		return err
	}
	if batch == 0 {
		return terminal.Usagef("--batch auto is for whisper: want a number of clips")
	}
	d, err := openData(dir, &fl.trainFlags)
	if err != nil {
		return err
	}
	defer d.close()
	r, err := newRecogniser(d, fl)
	if err != nil {
		return err
	}
	t := &training{flags: &fl.trainFlags, title: fmt.Sprintf("ctc on %s", dir), store: newStore(fl.seed)}
	if t.backend, err = fl.open(); err != nil {
		return err
	}
	r.backend = t.backend
	o := fl.loader(batch, d.train.Len())
	r.shape(&o)
	l, err := trainer.NewLoader(d.train, o)
	if err != nil {
		return terminal.Misuse(err)
	}
	defer l.Close()
	t.loop = loop.Options{Model: r.model, Source: loop.FromLoader(l, r.inputs), Fingerprint: r.model.Fingerprint()}
	if t.loop.Steps = fl.steps; fl.steps == 0 {
		t.loop.Steps = max(1, fl.epochs*l.Steps()/fl.accumulate)
	}
	if t.loop.Optimizer, err = fl.optimizer(t.loop.Steps); err != nil {
		return err
	}
	if t.transcribe, err = r.transcriber(t.store, d.eval, o.Batch); err != nil {
		return err
	}
	return a.run(ctx, t, startMessage{Batch: o.Batch, Clips: d.train.Len(), Held: d.held(), Rate: fl.rate})
}

// recogniser is the small model with the labels of its clips.
type recogniser struct {
	backend compute.Backend
	model   *ctc.Model
	units   *ctc.Units
}

// newRecogniser sizes a model for the dataset, and makes sure that every text
// can be written in the frames of its clip.
func newRecogniser(d *data, fl *ctcFlags) (*recogniser, error) {
	texts := make([]string, d.train.Len())
	for i := range texts {
		texts[i] = d.train.Clip(i).Text
	}
	units, err := ctc.NewUnits(ctc.Kind(fl.units), texts)
	if err != nil {
		return nil, terminal.Usagef("%s: %w", d.dir, err)
	}
	c := ctc.Default(d.train.Mel().NMels, units)
	set := func(to *int, from int) {
		if from != 0 {
			*to = from
		}
	}
	set(&c.Width, fl.width)
	set(&c.Blocks, fl.blocks)
	set(&c.Kernel, fl.kernel)
	set(&c.Stack, fl.stack)
	for ; fl.stack == 0 && c.Stack > 1; c.Stack-- {
		if tightest(d.train, c) == "" {
			break
		}
	}
	if err := c.Validate(); err != nil {
		return nil, terminal.Misuse(err)
	}
	if why := tightest(d.train, c); why != "" {
		return nil, terminal.Usagef("%s: %s: use a smaller --stack, --units words, or leave the clip out", d.dir, why)
	}
	return &recogniser{model: &ctc.Model{Config: c}, units: units}, nil
}

// tightest names a clip whose text does not fit its frames, "" if all do.
func tightest(d *trainer.Dataset, c ctc.Config) string {
	for i := range d.Len() {
		clip := d.Clip(i)
		labels, err := c.Units.Encode(clip.Text)
		if err != nil {
			return fmt.Sprintf("clip %s: %v", clip.ID, err)
		}
		if have, need := c.Frames(clip.Frames), ctc.Needs(labels); have < need {
			return fmt.Sprintf("clip %s has %d frames for the model, its text needs %d", clip.ID, have, need)
		}
	}
	return ""
}

// shape sets what a loader's batches are to be like: clips of similar length
// together, in few different widths.
func (r *recogniser) shape(o *trainer.LoaderOptions) {
	o.Multiple, o.Buckets, o.Prepare = 64, 16, r.prepare
}

// ctcLabels are what a batch's clips say.
type ctcLabels struct {
	labels, frames, lengths []int32
	width                   int
}

// labelMultiple keeps the number of shapes small.
const labelMultiple = 8

// prepare makes the labels of a batch.
func (r *recogniser) prepare(b *trainer.Batch) error {
	x := &ctcLabels{width: labelMultiple, frames: make([]int32, b.Len()), lengths: make([]int32, b.Len())}
	all := make([][]int32, b.Len())
	for i := range all {
		clip := b.Clip(i)
		var err error
		if all[i], err = r.units.Encode(clip.Text); err != nil {
			return fmt.Errorf("clip %s: %w", clip.ID, err)
		}
		x.frames[i], x.lengths[i] = int32(b.Frames[i]), int32(len(all[i]))
		x.width = max(x.width, (len(all[i])+labelMultiple-1)/labelMultiple*labelMultiple)
	}
	x.labels = make([]int32, len(all)*x.width)
	for i, l := range all {
		copy(x.labels[i*x.width:], l)
	}
	b.Value = x
	return nil
}

// inputs are those of ctc.Model.Loss.
func (r *recogniser) inputs(b *trainer.Batch) ([]*tensors.Tensor, error) {
	mels, err := loop.Mels(r.backend, b)
	if err != nil {
		return nil, err
	}
	x := b.Value.(*ctcLabels)
	return []*tensors.Tensor{
		mels, tensors.FromFlatDataAndDimensions(x.labels, b.Len(), x.width),
		tensors.FromValue(x.frames), tensors.FromValue(x.lengths),
	}, nil
}

// transcriber writes down every clip of a dataset.
func (r *recogniser) transcriber(store *model.Store, d *trainer.Dataset, batch int) (func(context.Context) ([]transcript, error), error) {
	path, err := model.NewExec(r.backend, store, func(scope *model.Scope, mels, frames *graph.Node) *graph.Node {
		return r.model.Path(scope, mels, frames)
	})
	if err != nil {
		return nil, err
	}
	path.SetMaxCache(-1)
	return func(ctx context.Context) ([]transcript, error) {
		var all []transcript
		err := eachBatch(ctx, d, trainer.LoaderOptions{Batch: batch, Multiple: 64}, func(b *trainer.Batch) error {
			mels, err := loop.Mels(r.backend, b)
			if err != nil {
				return err
			}
			frames := make([]int32, b.Len())
			for i, n := range b.Frames {
				frames[i] = int32(n)
			}
			out, err := path.Call1(mels, frames)
			if err != nil {
				return err
			}
			best, err := tensors.CopyFlatData[int32](out)
			if err != nil {
				return err
			}
			width := len(best) / b.Len()
			for i := range b.Len() {
				clip := b.Clip(i)
				heard := r.units.Decode(ctc.Collapse(best[i*width : (i+1)*width]))
				all = append(all, transcript{ID: clip.ID, Text: clip.Text, Transcript: heard})
			}
			return nil
		})
		return all, err
	}, nil
}
