package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/trainer"
	"github.com/melforge/melforge/trainer/hf"
	"github.com/melforge/melforge/trainer/loop"
	"github.com/melforge/melforge/trainer/whisper"
)

// whisperFlags are those of Whisper.
type whisperFlags struct {
	trainFlags
	model, dtype, language       string
	checkpointing, freezeEncoder bool
	evalClips                    int
}

func (a *app) whisperCommand() *cobra.Command {
	fl := &whisperFlags{trainFlags: trainFlags{
		epochs: 3, batch: "16", rate: 1e-5, maxWarmup: 50, schedule: "linear", evalSplit: 0.05, evalEvery: 500, saveEvery: 500,
	}}
	cmd := &cobra.Command{
		Use: "whisper DATASET", Short: "Fine-tune Whisper from a Hugging Face folder, and write one",
		Long: `Trains the Whisper in the Hugging Face folder --model (config.json, safetensors,
tokenizer.json) on the mels of DATASET, and writes another such folder that
transformers loads to OUT/model. Weights, their moments and updates are float32;
--dtype bfloat16 computes the products in between in half the bits.

` + exitHelp,
		Example: `  melforge-train whisper dataset --model whisper-tiny --out run
  melforge-train whisper dataset --model whisper-small --out run --backend xla --dtype bfloat16 --batch auto
  melforge-train whisper dataset --model whisper-large-v3 --out run --backend xla --dtype bfloat16 \
      --batch 8 --accumulate 4 --checkpointing --eval-every 200 --patience 5
  melforge-train whisper dataset --model whisper-tiny --out run --resume`,
		Args: terminal.OneArg("dataset"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.trainWhisper(cmd.Context(), fl, args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&fl.model, "model", "m", "", "the Hugging Face folder to begin with")
	fl.trainFlags.add(f)
	f.Lookup("batch").Usage = "clips in a batch, or auto: as many as 90 % of the card's memory hold"
	f.StringVar(&fl.dtype, "dtype", "float32", "what products are computed in: float32 or bfloat16")
	f.BoolVar(&fl.checkpointing, "checkpointing", false, "compute layers again in the backward pass: less memory, a third more work")
	f.BoolVar(&fl.freezeEncoder, "freeze-encoder", false, "train the decoder only")
	f.StringVar(&fl.language, "language", "en", "the language of clips that name none")
	f.IntVar(&fl.evalClips, "eval-clips", 500, "clips of an evaluation at most; 0: all that are kept out")
	return cmd
}

// check refuses values that mean nothing.
func (fl *whisperFlags) check() error {
	if fl.model == "" {
		return terminal.Usagef("say which model to begin with: --model and a Hugging Face folder")
	}
	if fl.dtype != "float32" && fl.dtype != "bfloat16" {
		return terminal.Usagef("--dtype %s: want float32 or bfloat16", fl.dtype)
	}
	if fl.evalClips < 0 {
		return terminal.Usagef("--eval-clips %d: want a number of clips, or 0", fl.evalClips)
	}
	return fl.trainFlags.check()
}

// trainWhisper is whisper.
func (a *app) trainWhisper(ctx context.Context, fl *whisperFlags, dir string) error {
	if err := fl.check(); err != nil {
		return err
	}
	d, err := openData(dir, &fl.trainFlags)
	if err != nil {
		return err
	}
	defer d.close()
	t := &training{flags: &fl.trainFlags, title: fmt.Sprintf("whisper %s on %s", filepath.Base(fl.model), dir), store: newStore(fl.seed)}
	w, err := a.openWhisper(ctx, fl, d)
	if err != nil {
		return err
	}
	if t.backend, err = fl.open(); err != nil {
		return err
	}
	w.backend = t.backend
	batch, err := a.batchOf(ctx, w, fl, d.train.Len())
	if err != nil {
		return err
	}
	o := fl.loader(batch, d.train.Len())
	w.shape(&o)
	l, err := trainer.NewLoader(d.train, o)
	if err != nil {
		return terminal.Misuse(err)
	}
	defer l.Close()
	t.loop = loop.Options{Model: w.model, Source: loop.FromLoader(l, w.inputs), Fingerprint: w.fingerprint()}
	if t.loop.Steps = fl.steps; fl.steps == 0 {
		t.loop.Steps = max(1, fl.epochs*l.Steps()/fl.accumulate)
	}
	if t.loop.Optimizer, err = fl.optimizer(t.loop.Steps); err != nil {
		return err
	}
	if err := w.folder.Load(t.store); err != nil {
		return terminal.Misuse(err)
	}
	t.transcribe = w.transcriber(t.store, d.eval, o.Batch, fl.evalClips)
	t.export = func() (string, error) {
		dir := filepath.Join(fl.out, "model")
		return dir, w.folder.Save(dir, t.store, hf.F32)
	}
	return a.run(ctx, t, startMessage{Batch: o.Batch, Clips: d.train.Len(), Held: d.held(), Rate: fl.rate, Labels: w.widest()})
}

// openWhisper opens model and tokenizer and holds the dataset to them: whatever
// does not fit is found here, before anything is computed.
func (a *app) openWhisper(ctx context.Context, fl *whisperFlags, d *data) (*whisperModel, error) {
	folder, err := hf.Open(fl.model)
	if err != nil {
		return nil, terminal.Misuse(err)
	}
	if err := checkMels(d, folder); err != nil {
		return nil, terminal.Misuse(err)
	}
	tokenizer, err := folder.Tokenizer()
	if err != nil {
		return nil, terminal.Misuse(err)
	}
	w := &whisperModel{
		folder: folder, tokenizer: tokenizer, labels: newLabels(tokenizer, folder.Config, fl.language),
		model: &whisper.Model{Config: folder.Config, Half: fl.dtype == "bfloat16", Checkpoint: fl.checkpointing, FreezeEncoder: fl.freezeEncoder, Deterministic: fl.deterministic},
		half:  fl.backend == "xla",
	}
	for _, set := range []*trainer.Dataset{d.train, d.eval} {
		if err := w.labels.encode(ctx, set, func(done int) {
			a.ui.StatusOften(fmt.Sprintf("labels: %d of %d clips", done, set.Len()), false)
		}); err != nil {
			return nil, terminal.Usagef("%s: %w", d.dir, err)
		}
	}
	return w, nil
}

// checkMels wants the dataset's mels to be those that the model was trained on.
func checkMels(d *data, folder *hf.Folder) error {
	want, err := mel.Preset("whisper-80")
	if err != nil {
		return err
	}
	got := d.train.Mel()
	want.NMels = folder.Config.Mels
	want.Name, want.ChunkSeconds = got.Name, got.ChunkSeconds // a name decides nothing, and batches are as long as the model wants
	if got != want {
		return fmt.Errorf("%s has the mels %s (%d bins, %d Hz, hop %d) and the model in %s wants whisper-%d: compute them with melforge mel %s --mel whisper-%d",
			d.dir, got.Name, got.NMels, got.Rate, got.Hop, folder.Dir, folder.Config.Mels, d.dir, folder.Config.Mels)
	}
	for _, set := range []*trainer.Dataset{d.train, d.eval} {
		for i := range set.Len() {
			if c := set.Clip(i); c.Frames > folder.Config.Frames() {
				return fmt.Errorf("%s: clip %s has %d frames, and the model in %s hears %d (max_source_positions %d): make the dataset with a smaller --max-seconds",
					d.dir, c.ID, c.Frames, folder.Dir, folder.Config.Frames(), folder.Config.MaxSource)
			}
		}
	}
	return nil
}

// fingerprint tells Whispers of different shapes apart.
func (w *whisperModel) fingerprint() string {
	b, err := json.Marshal(w.folder.Config)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return "whisper " + string(b)
}

// shape sets what a loader's batches are to be like.
func (w *whisperModel) shape(o *trainer.LoaderOptions) {
	o.Frames, o.Half, o.Prepare = w.folder.Config.Frames(), w.half, w.prepare
}

// inputs are those of whisper.Model.Loss.
func (w *whisperModel) inputs(b *trainer.Batch) ([]*tensors.Tensor, error) {
	mels, err := loop.Mels(w.backend, b)
	if err != nil {
		return nil, err
	}
	flat := b.Value.([]int32)
	labels, err := loop.Labels(w.backend, flat, b.Len(), len(flat)/b.Len())
	if err != nil {
		return nil, err
	}
	return []*tensors.Tensor{mels, labels}, nil
}
