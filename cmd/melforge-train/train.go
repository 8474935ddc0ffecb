package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/internal/score"
	"github.com/melforge/melforge/trainer/loop"
)

// training is a run, ready to begin.
type training struct {
	flags   *trainFlags
	title   string
	backend compute.Backend
	store   *model.Store
	loop    loop.Options
	// transcribe gives the text of every clip that is evaluated.
	transcribe func(ctx context.Context) ([]transcript, error)
	// export writes the model at the end and says where to; it may be nil.
	export func() (string, error)
}

// newStore is an empty store whose weights will be the same for the same seed.
func newStore(seed int64) *model.Store {
	s := model.NewStore()
	s.RootScope().SetParam(model.ParamInitialSeed, seed)
	return s
}

// transcript is a line of transcripts.jsonl.
type transcript struct {
	ID         string `json:"id"`
	Text       string `json:"text"`
	Transcript string `json:"transcript"`
}

func tallyOf(all []transcript) (t score.Tally) {
	for _, x := range all {
		t.Add(x.Text, x.Transcript)
	}
	return t
}

// evaluationMessage is an evaluation as --json shows it.
type evaluationMessage struct {
	loop.Evaluation
	WER   float64 `json:"wer"`
	CER   float64 `json:"cer"`
	Exact float64 `json:"exact"`
}

// startMessage says what will be trained.
type startMessage struct {
	Title      string  `json:"title"`
	Backend    string  `json:"backend"`
	Steps      int     `json:"steps"`
	Batch      int     `json:"batch"`
	Accumulate int     `json:"accumulate"`
	Clips      int     `json:"clips"`
	Held       int     `json:"held_out_clips"`
	Labels     int     `json:"labels,omitempty"` // of the widest batch
	Rate       float64 `json:"learning_rate"`
	From       int     `json:"from_step"`
}

// summaryMessage is the end of a run.
type summaryMessage struct {
	loop.Summary
	Share            float64     `json:"wait_share"`
	StepsPerSecond   float64     `json:"steps_per_second"`
	SamplesPerSecond float64     `json:"samples_per_second"`
	Score            score.Tally `json:"score"`
	WER              float64     `json:"wer"`
	Exact            float64     `json:"exact"`
	Curve            string      `json:"curve"`
	Transcripts      string      `json:"transcripts"`
	Model            string      `json:"model,omitempty"`
}

// run trains, evaluates and reports.
func (a *app) run(ctx context.Context, t *training, start startMessage) error {
	a.watch(t)
	l, err := loop.New(t.loop)
	if err != nil {
		return terminal.Misuse(err)
	}
	if start.From, err = begin(l, t.flags); err != nil {
		return err
	}
	start.Title, start.Backend, start.Steps, start.Accumulate = t.title, t.backend.Description(), t.loop.Steps, t.loop.Accumulate
	a.ui.Message("start", start, startText(start))
	if err := os.MkdirAll(t.flags.out, 0o755); err != nil {
		return err
	}
	a.ui.GoOn = commandLine()
	traced, err := a.ui.Trace(t.flags.trace)
	if err != nil {
		return err
	}
	s, err := l.Run(ctx)
	traced()
	m := summaryMessage{
		Summary: s, Share: s.Share(), StepsPerSecond: s.StepsPerSecond(), SamplesPerSecond: s.SamplesPerSecond(),
		Curve: filepath.Join(t.flags.out, "loss.html"),
	}
	curve := loop.Curve{Title: t.title, Steps: l.Steps(), Evaluations: l.Evaluations(), Facts: facts(m)}
	if failed := commit.File("curve", m.Curve, curve.WriteHTML); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	if err := a.finish(ctx, t, l, &m); err != nil {
		return err
	}
	a.ui.Message("summary", m, curve.Text(64, 8)+summaryText(m))
	return nil
}

// begin goes on from a checkpoint, or makes sure that none will be lost.
func begin(l *loop.Loop, f *trainFlags) (step int, err error) {
	if f.resume {
		step, err = l.Resume()
		return step, terminal.Misuse(err)
	}
	_, err = os.Stat(filepath.Join(f.checkpoints(), "checkpoints.json"))
	if err == nil {
		return 0, terminal.Usagef("%s holds checkpoints of an earlier run: go on with --resume, or name another folder with --out", f.out)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return 0, nil
}

// watch has the loop tell what happens.
func (a *app) watch(t *training) {
	o := &t.loop
	o.Backend, o.Store, o.Dir = t.backend, t.store, t.flags.checkpoints()
	o.Accumulate, o.SaveEvery, o.Keep = t.flags.accumulate, t.flags.saveEvery, t.flags.keep
	o.EvaluateEvery, o.Patience = t.flags.evalEvery, t.flags.patience
	if t.flags.target >= 0 {
		o.Target = &t.flags.target
	}
	o.Evaluate = func(ctx context.Context) (string, float64, any, error) {
		all, err := t.transcribe(ctx)
		y := tallyOf(all)
		return "wer", y.WER(), y, err
	}
	o.OnStep = func(s loop.Step) {
		if a.ui.JSON {
			a.ui.Message("step", stepMessage{s, s.Share(), rate(s)}, "")
			return
		}
		a.ui.StatusOften(stepText(s, o.Steps), s.Step == o.Steps)
	}
	o.OnEvaluation = func(e loop.Evaluation) {
		y := e.Detail.(score.Tally)
		a.ui.Message("evaluation", evaluationMessage{e, y.WER(), y.CER(), y.ExactShare()}, evaluationText(e, y))
	}
	o.OnCheckpoint = func(path string, step int) {
		a.ui.Log.Info().Str("checkpoint", path).Int("step", step).Msg("saved")
		if a.ui.JSON {
			a.ui.Message("checkpoint", map[string]any{"checkpoint": path, "step": step}, "")
		}
	}
}

// finish transcribes with the best weights, and writes what was heard and the
// model.
func (a *app) finish(ctx context.Context, t *training, l *loop.Loop, m *summaryMessage) error {
	if m.Best != nil && m.Best.Step != m.Last {
		if _, err := l.RestoreBest(); err != nil {
			return err
		}
	}
	all, err := t.transcribe(ctx)
	if err != nil {
		return err
	}
	m.Score = tallyOf(all)
	m.WER, m.Exact = m.Score.WER(), m.Score.ExactShare()
	m.Transcripts = filepath.Join(t.flags.out, "transcripts.jsonl")
	err = commit.File("transcripts", m.Transcripts, func(w io.Writer) error {
		for _, x := range all {
			b, err := terminal.Typed("transcript", x)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s\n", b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || t.export == nil {
		return err
	}
	m.Model, err = t.export()
	return err
}
