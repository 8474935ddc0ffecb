package whisper

import (
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
)

// Stage says how much of a training step a benchmark runs, so that differences
// tell where the time goes.
type Stage string

// The stages, each with those before it.
const (
	Encoder  Stage = "encoder"  // the encoder's forward pass
	Forward  Stage = "forward"  // and the decoder's and the loss
	Backward Stage = "backward" // and all gradients
	Update   Stage = "update"   // and AdamW: a whole step
)

// Bench measures training steps on random clips.
type Bench struct {
	Model  Model
	Stage  Stage
	Batch  int
	Labels int // tokens a clip
	Steps  int // measured ones, after three that are not
	// Resident keeps one batch on the device. Otherwise each step is fed float16
	// mels from host memory, copied while the step before runs.
	Resident bool
	// Warm, where it is set, is called before the first measured step: for a
	// profiler that is to see nothing else.
	Warm func()
}

// BenchResult is what a Bench measured.
type BenchResult struct {
	Compile time.Duration // of the first step, with its execution
	Step    time.Duration // mean of the measured steps
	First   float64       // loss, or for Encoder a sum of its output
	Last    float64
}

// PerSecond is the number of clips a second in batches of n.
func (r BenchResult) PerSecond(n int) float64 { return float64(n) / r.Step.Seconds() }

// Run measures on the backend.
func (b Bench) Run(backend compute.Backend) (BenchResult, error) {
	var result BenchResult
	store := model.NewStore()
	if err := b.Model.Config.Randomize(store, 1); err != nil {
		return result, err
	}
	step, err := model.NewExec(backend, store, b.graph)
	if err != nil {
		return result, err
	}
	defer step.Finalize()
	feed := b.feed(backend)
	defer feed.stop()
	var start time.Time
	const warm = 3
	for i := range warm + b.Steps {
		begun := time.Now()
		inputs := feed.next()
		if inputs.err != nil {
			return result, inputs.err
		}
		out, err := step.Call1(inputs.mels, inputs.labels)
		if err != nil {
			return result, err
		}
		loss := float64(out.Value().(float32)) // waits for the step, as a loop that shows the loss does
		if !b.Resident {
			inputs.mels.MustFinalizeAll()
		}
		switch i {
		case 0:
			result.Compile, result.First = time.Since(begun), loss
		case warm - 1:
			if b.Warm != nil {
				b.Warm()
			}
			start = time.Now()
		}
		result.Last = loss
	}
	result.Step = time.Since(start) / time.Duration(b.Steps)
	return result, nil
}

func (b Bench) graph(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
	if b.Stage == Encoder {
		return graph.ReduceAllSum(graph.ConvertDType(b.Model.Encode(scope, mels), dtypes.Float32))
	}
	sum, count := b.Model.Loss(scope, []*graph.Node{mels, labels})
	loss := graph.Div(sum, count)
	if b.Stage == Forward {
		return loss
	}
	vars := optim.Variables(scope, mels.Graph())
	grads := optim.Gradients(loss, vars)
	if b.Stage == Backward {
		for _, g := range grads {
			loss = graph.Add(loss, graph.MulScalar(graph.ReduceAllSum(g), 1e-30))
		}
		return loss
	}
	o := optim.New(optim.Schedule{Shape: optim.Constant, Rate: 1e-5})
	o.Decay = 0.01
	o.Update(scope.Store(), vars, grads)
	return loss
}
