package loop

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
)

const features = 5

// toy is a regression that also draws random numbers, as dropout does. What it
// divides by is not the number of rows: rows with y < 0 do not count.
type toy struct{ noise float64 }

func (m toy) Loss(scope *model.Scope, inputs []*graph.Node) (sum, count *graph.Node) {
	x, y := inputs[0], inputs[1]
	g := x.Graph()
	if m.noise > 0 {
		x = graph.Add(x, graph.MulScalar(scope.RandomNormal(g, x.Shape()), m.noise))
	}
	w := scope.In("toy").VariableWithShape("weight", shapes.Make(dtypes.Float32, features, 1)).NodeValue(g)
	miss := graph.Square(graph.Sub(graph.Squeeze(graph.MatMul(x, w), -1), y))
	counts := graph.GreaterOrEqual(y, graph.ScalarZero(g, dtypes.Float32))
	sum = graph.ReduceAllSum(graph.Where(counts, miss, graph.ZerosLike(miss)))
	return sum, graph.ReduceAllSum(graph.ConvertDType(counts, dtypes.Float32))
}

// draws is a source of random rows, the same for the same number of rows
// before, however they are cut into batches.
type draws struct{ batch, next int }

func (d *draws) Next(ctx context.Context) (*Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x, y := make([]float32, d.batch*features), make([]float32, d.batch)
	for i := range d.batch {
		r := rand.New(rand.NewPCG(9, uint64(d.next+i)))
		for k := range features {
			v := r.NormFloat64()
			x[i*features+k] = float32(v)
			y[i] += float32(v * float64(k))
		}
	}
	d.next += d.batch
	state, err := json.Marshal(d.next)
	return &Batch{
		Inputs:  []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x, d.batch, features), tensors.FromFlatDataAndDimensions(y, d.batch)},
		Samples: d.batch, Epoch: d.next / 100, State: state,
	}, err
}

func (d *draws) Resume(state json.RawMessage) error { return json.Unmarshal(state, &d.next) }

func backend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// options train the toy for a while, always alike.
func options(b compute.Backend, dir string) Options {
	store := model.NewStore()
	store.RootScope().SetParam(model.ParamInitialSeed, int64(42))
	o := optim.New(optim.Schedule{Shape: optim.Cosine, Rate: 0.3, Warmup: 3, Total: 40})
	o.Decay = 0.01
	return Options{
		Backend: b, Store: store, Model: toy{noise: 0.1}, Optimizer: o, Source: &draws{batch: 8},
		Fingerprint: "toy of 5", Steps: 20, Dir: dir, SaveEvery: 4, Keep: 2,
	}
}

// losses runs a loop to its end.
func losses(t testing.TB, o Options, resume bool) map[int]float64 {
	t.Helper()
	got := map[int]float64{}
	o.OnStep = func(s Step) { got[s.Step] = s.Loss }
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if resume {
		if _, err := l.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got
}
