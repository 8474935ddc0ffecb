package main

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer"
	"github.com/melforge/melforge/trainer/loop"
)

// compareFlags are those of compare.
type compareFlags struct {
	whisperFlags
	voice string
	jobs  int
	ahead bool
}

func (a *app) compareCommand() *cobra.Command {
	fl := &compareFlags{whisperFlags: whisperFlags{trainFlags: trainFlags{
		out: "-", rate: 1e-3, schedule: "constant", accumulate: 1, badShards: "fail",
	}}}
	cmd := &cobra.Command{
		Use: "compare DATASET", Short: "Train with speech and mels made on the fly, then from the dataset, and compare",
		Long: `Trains twice, with the same model, seed and order: once with speech and mels made
inside of the loop (by --jobs at once, and with --ahead while the model trains),
and once from DATASET.
Prints how long a step takes, how many clips a second are trained on, and how
much of the time is spent waiting. Where the mels are the same, the losses are
too, and that is checked. Nothing is written.

The voices are those of the dataset, unless --voice names another; piper needs
melforge-tts beside this program.

` + exitHelp,
		Example: `  melforge-train compare dataset --steps 50
  melforge-train compare dataset --steps 50 --voice espeak/en-us
  melforge-train compare dataset --steps 50 --model whisper-tiny --backend xla --dtype bfloat16 --batch 64`,
		Args: terminal.OneArg("dataset"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.compare(cmd.Context(), fl, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&fl.steps, "steps", 50, "steps of each training")
	f.StringVar(&fl.batch, "batch", "16", "clips in a step")
	f.StringVarP(&fl.model, "model", "m", "", "train the Whisper in this Hugging Face folder (default: the small model of ctc)")
	f.StringVar(&fl.dtype, "dtype", "float32", "with --model: what products are computed in, float32 or bfloat16")
	f.StringVar(&fl.language, "language", "en", "with --model: the language of clips that name none")
	f.Float64Var(&fl.rate, "lr", fl.rate, "learning rate")
	f.StringVar(&fl.voice, "voice", "", "speak with this voice instead of the dataset's")
	f.IntVarP(&fl.jobs, "jobs", "j", runtime.NumCPU(), "clips spoken at once on the fly")
	f.BoolVar(&fl.ahead, "ahead", false, "make the next batch on the fly while the model trains, as a data loader with workers does")
	f.IntVar(&fl.workers, "workers", 0, "threads that read mels; 0: up to four")
	f.Int64Var(&fl.seed, "seed", 1, "seed of the order and of new weights")
	fl.backendFlags.add(f)
	return cmd
}

// subject is a model that can be trained.
type subject interface {
	loss() loop.Model
	shape(*trainer.LoaderOptions)
	inputs(*trainer.Batch) ([]*tensors.Tensor, error)
	weights(seed int64) (*model.Store, error)
	on(compute.Backend)
}

func (r *recogniser) loss() loop.Model                         { return r.model }
func (r *recogniser) weights(seed int64) (*model.Store, error) { return newStore(seed), nil }
func (r *recogniser) on(b compute.Backend)                     { r.backend = b }

func (w *whisperModel) loss() loop.Model     { return w.model }
func (w *whisperModel) on(b compute.Backend) { w.backend = b }
func (w *whisperModel) weights(seed int64) (*model.Store, error) {
	s := newStore(seed)
	return s, w.folder.Load(s)
}

// compareMessage is the result.
type compareMessage struct {
	Before  sideMessage `json:"on_the_fly"`
	After   sideMessage `json:"from_the_dataset"`
	Speedup float64     `json:"speedup"`
	// Mels counts the clips that were compared, SameMels those with equal mels;
	// SameLosses says whether every step had the same loss, and Apart by how much
	// of itself a loss differed at most.
	Mels       int     `json:"mels"`
	SameMels   int     `json:"same_mels"`
	SameLosses bool    `json:"same_losses"`
	Apart      float64 `json:"losses_apart"`
}

// mayDiffer is how far apart losses of the same training may be on a GPU that adds
// up in another order every time.
const mayDiffer = 0.05

// sideMessage is one of the two trainings.
type sideMessage struct {
	SecondsPerStep   float64 `json:"seconds_per_iteration"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	Share            float64 `json:"wait_share"`
	loop.Summary
}

// compare is compare.
func (a *app) compare(ctx context.Context, fl *compareFlags, dir string) error {
	batch, err := fl.fixedBatch()
	if err != nil || batch == 0 || fl.steps < 1 || fl.jobs < 1 {
		return terminal.Usagef("--batch, --steps and --jobs: want numbers from 1 on")
	}
	book, err := openBook(dir)
	if err != nil {
		return terminal.Misuse(err)
	}
	d, err := openData(dir, &fl.trainFlags)
	if err != nil {
		return err
	}
	defer d.close()
	s, err := a.subject(ctx, fl, d)
	if err != nil {
		return err
	}
	studio, err := openStudio(ctx, book, d.train.Mel(), fl.voice, fl.jobs, a.ui.Log)
	if err != nil {
		return err
	}
	defer studio.close()
	b, err := fl.open()
	if err != nil {
		return err
	}
	s.on(b)
	var m compareMessage
	side := &side{app: a, flags: fl, data: d, subject: s, backend: b}
	before, err := side.train(ctx, "on the fly", &m.Before, !fl.ahead, func(l *trainer.Loader) loop.Batches {
		return &liveLoader{loader: l, studio: studio, result: &m}
	})
	if err != nil {
		return err
	}
	after, err := side.train(ctx, "from the dataset", &m.After, false, func(l *trainer.Loader) loop.Batches { return l })
	if err != nil {
		return err
	}
	for i := range min(len(before), len(after)) {
		m.Apart = max(m.Apart, math.Abs(before[i].Loss-after[i].Loss)/max(math.Abs(after[i].Loss), 1e-12))
	}
	m.SameLosses = m.Apart == 0
	m.Speedup = m.Before.SecondsPerStep / max(m.After.SecondsPerStep, 1e-9)
	a.ui.Message("comparison", m, compareText(m))
	allowed := 0.0
	if fl.backend == "xla" && !fl.deterministic {
		allowed = mayDiffer
	}
	if m.SameMels == m.Mels && m.Apart > allowed {
		return fmt.Errorf("the mels were the same in both trainings, and losses differed by %.2g of themselves", m.Apart)
	}
	return nil
}

// subject is what both trainings train.
func (a *app) subject(ctx context.Context, fl *compareFlags, d *data) (subject, error) {
	if fl.model == "" {
		return newRecogniser(d, &ctcFlags{units: "characters"})
	}
	if fl.dtype != "float32" && fl.dtype != "bfloat16" {
		return nil, terminal.Usagef("--dtype %s: want float32 or bfloat16", fl.dtype)
	}
	return a.openWhisper(ctx, &fl.whisperFlags, d)
}

// side is what both trainings have in common.
type side struct {
	app     *app
	flags   *compareFlags
	data    *data
	subject subject
	backend compute.Backend
}

// train is one of the trainings.
func (s *side) train(ctx context.Context, name string, m *sideMessage, inline bool, batches func(*trainer.Loader) loop.Batches) ([]loop.Step, error) {
	fl, ui := s.flags, s.app.ui
	batch, err := fl.fixedBatch()
	if err != nil {
		return nil, err
	}
	o := fl.loader(batch, s.data.train.Len())
	s.subject.shape(&o)
	l, err := trainer.NewLoader(s.data.train, o)
	if err != nil {
		return nil, terminal.Misuse(err)
	}
	defer l.Close()
	optimizer, err := fl.optimizer(fl.steps)
	if err != nil {
		return nil, err
	}
	store, err := s.subject.weights(fl.seed)
	if err != nil {
		return nil, err
	}
	defer store.Finalize()
	run, err := loop.New(loop.Options{
		Backend: s.backend, Store: store, Model: s.subject.loss(), Optimizer: optimizer, Steps: fl.steps,
		Source: loop.FromLoader(batches(l), s.subject.inputs), Inline: inline,
		OnStep: func(x loop.Step) {
			if ui.JSON {
				ui.Message("step", sideStep{name, stepMessage{x, x.Share(), rate(x)}}, "")
				return
			}
			ui.StatusOften(name+": "+stepText(x, fl.steps), x.Step == fl.steps)
		},
	})
	if err != nil {
		return nil, terminal.Misuse(err)
	}
	sum, err := run.Run(ctx)
	*m = sideMessage{
		SecondsPerStep: 1 / max(sum.StepsPerSecond(), 1e-9), SamplesPerSecond: sum.SamplesPerSecond(), Share: sum.Share(), Summary: sum,
	}
	return run.Steps(), err
}

// sideStep is a step of one of the trainings.
type sideStep struct {
	Side string `json:"side"`
	stepMessage
}

func compareText(m compareMessage) string {
	row := func(what, format string, before, after float64) string {
		return fmt.Sprintf("%-26s %14s %18s\n", what, fmt.Sprintf(format, before), fmt.Sprintf(format, after))
	}
	text := fmt.Sprintf("%-26s %14s %18s\n", "", "on the fly", "from the dataset")
	text += row("seconds per iteration", "%.4f", m.Before.SecondsPerStep, m.After.SecondsPerStep)
	text += row("samples/s", "%.1f", m.Before.SamplesPerSecond, m.After.SamplesPerSecond)
	text += row("waiting for data", "%.2f %%", 100*m.Before.Share, 100*m.After.Share)
	text += row("last loss", "%.6f", m.Before.LastLoss, m.After.LastLoss)
	text += fmt.Sprintf("%.1f times as fast; ", m.Speedup)
	switch {
	case m.SameMels < m.Mels:
		text += fmt.Sprintf("%d of %d clips had the same mels, so losses may differ\n", m.SameMels, m.Mels)
	case m.SameLosses:
		text += fmt.Sprintf("the mels of all %d clips and the losses of all %d steps were the same\n", m.Mels, m.After.Steps)
	default:
		text += fmt.Sprintf("the mels of all %d clips were the same, the losses of %d steps up to %.2g of themselves\n", m.Mels, m.After.Steps, m.Apart)
	}
	return text
}
