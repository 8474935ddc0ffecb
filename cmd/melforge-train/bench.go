package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer/whisper"
)

// benchFlags are what a measurement is made with.
type benchFlags struct {
	backendFlags
	size, dtype, stage            string
	batch, labels, steps          int
	resident, checkpoint, freezes bool
}

func (a *app) benchCommand() *cobra.Command {
	fl := new(benchFlags)
	c := &cobra.Command{
		Use: "bench", Short: "Measure training steps of Whisper on random clips", Args: cobra.NoArgs,
		Long: `Measures how fast Whisper trains here, with random weights and clips: no dataset
and no model is needed. --stage measures less than a whole step, so that
differences tell where the time goes. scripts/bench-train-gpu.py measures
Hugging Face's on the same work.`,
		Example: "  melforge-train bench --size tiny --backend xla --dtype bfloat16 --batch 64\n  melforge-train bench --stage forward --batch 1 --steps 2",
		RunE:    func(*cobra.Command, []string) error { return a.bench(fl) },
	}
	f := c.Flags()
	fl.add(f)
	f.StringVar(&fl.size, "size", "tiny", "tiny, base, small, medium or large")
	f.StringVar(&fl.dtype, "dtype", "float32", "what products are computed in: float32 or bfloat16")
	f.StringVar(&fl.stage, "stage", string(whisper.Update), "encoder, forward, backward or update (a whole step)")
	f.IntVar(&fl.batch, "batch", 16, "clips in a step")
	f.IntVar(&fl.labels, "labels", 64, "tokens of a clip")
	f.IntVar(&fl.steps, "steps", 20, "steps to measure")
	f.BoolVar(&fl.resident, "resident", false, "keep one batch on the device instead of feeding each step from host memory")
	f.BoolVar(&fl.checkpoint, "checkpointing", false, "compute layers again in the backward pass")
	f.BoolVar(&fl.freezes, "freeze-encoder", false, "train the decoder only")
	return c
}

// benchMessage is the result as --json shows it.
type benchMessage struct {
	Size       string  `json:"size"`
	Batch      int     `json:"batch"`
	Stage      string  `json:"stage"`
	Compile    float64 `json:"compile_seconds"`
	Step       float64 `json:"step_seconds"`
	PerSecond  float64 `json:"samples_per_second"`
	FirstLoss  float64 `json:"first_loss"`
	LatestLoss float64 `json:"last_loss"`
}

func (a *app) bench(fl *benchFlags) error {
	config, err := whisper.Size(fl.size)
	if err != nil {
		return terminal.Misuse(err)
	}
	switch whisper.Stage(fl.stage) {
	case whisper.Encoder, whisper.Forward, whisper.Backward, whisper.Update:
	default:
		return terminal.Usagef("--stage %s: want encoder, forward, backward or update", fl.stage)
	}
	if fl.dtype != "float32" && fl.dtype != "bfloat16" {
		return terminal.Usagef("--dtype %s: want float32 or bfloat16", fl.dtype)
	}
	if fl.batch < 1 || fl.steps < 1 || fl.labels < 1 || fl.labels > config.MaxTarget {
		return terminal.Usagef("--batch %d --steps %d --labels %d: want 1 or more, and up to %d labels", fl.batch, fl.steps, fl.labels, config.MaxTarget)
	}
	backend, err := fl.open()
	if err != nil {
		return err
	}
	defer backend.Finalize()
	r, err := whisper.Bench{
		Model: whisper.Model{Config: config, Half: fl.dtype == "bfloat16", Checkpoint: fl.checkpoint, FreezeEncoder: fl.freezes, Deterministic: fl.deterministic},
		Stage: whisper.Stage(fl.stage), Batch: fl.batch, Labels: fl.labels, Steps: fl.steps, Resident: fl.resident,
	}.Run(backend)
	if err != nil {
		return err
	}
	m := benchMessage{fl.size, fl.batch, fl.stage, r.Compile.Seconds(), r.Step.Seconds(), r.PerSecond(fl.batch), r.First, r.Last}
	a.ui.Message("bench", m, fmt.Sprintf("whisper %s, %s, batches of %d: %.2f ms a step, %.1f samples/s; first step %.1f s; loss %.4f to %.4f\n",
		m.Size, m.Stage, m.Batch, 1000*m.Step, m.PerSecond, m.Compile, m.FirstLoss, m.LatestLoss))
	return nil
}
