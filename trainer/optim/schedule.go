package optim

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// Shape is the course of the learning rate after the warm-up.
type Shape string

// The shapes, by the names that Hugging Face's lr_scheduler_type gives them.
const (
	Constant Shape = "constant"
	Linear   Shape = "linear"
	Cosine   Shape = "cosine"
)

// Schedule is the learning rate of every update: a linear rise from zero over
// Warmup updates, then Shape. Linear and Cosine fall to zero at Total updates.
// It equals transformers' get_scheduler: with a warm-up, the very first update
// has the rate zero.
type Schedule struct {
	Shape  Shape
	Rate   float64 // the peak
	Warmup int
	Total  int
}

// Validate says what is wrong with the schedule.
func (s Schedule) Validate() error {
	switch s.Shape {
	case Constant:
	case Linear, Cosine:
		if s.Total <= s.Warmup {
			return fmt.Errorf("a %s schedule of %d updates is over before its warm-up of %d: use more updates or a shorter warm-up", s.Shape, s.Total, s.Warmup)
		}
	default:
		return fmt.Errorf("unknown schedule %q: use %s, %s or %s", s.Shape, Constant, Linear, Cosine)
	}
	if !(s.Rate > 0) || math.IsInf(s.Rate, 0) {
		return fmt.Errorf("a learning rate of %g: it must be above zero", s.Rate)
	}
	if s.Warmup < 0 {
		return fmt.Errorf("a warm-up of %d updates: it must not be negative", s.Warmup)
	}
	return nil
}

// At is the rate of the update that follows done others.
func (s Schedule) At(done int) float64 {
	if done < s.Warmup {
		return s.Rate * float64(done) / float64(s.Warmup)
	}
	if s.Shape == Constant {
		return s.Rate
	}
	progress := float64(done-s.Warmup) / float64(max(1, s.Total-s.Warmup))
	if s.Shape == Linear {
		return s.Rate * max(0, 1-progress)
	}
	return s.Rate * max(0, 0.5*(1+math.Cos(math.Pi*min(1, progress))))
}

// node is At in the graph, for a float64 scalar. The cosine stays at zero after
// Total, where At does too.
func (s Schedule) node(done *graph.Node) *graph.Node {
	g := done.Graph()
	one := graph.Const(g, 1.0)
	rate := one
	if s.Shape != Constant {
		progress := graph.DivScalar(graph.AddScalar(done, -float64(s.Warmup)), float64(max(1, s.Total-s.Warmup)))
		progress = graph.Clip(progress, graph.ScalarZero(g, dtypes.Float64), one)
		rate = graph.OneMinus(progress)
		if s.Shape == Cosine {
			rate = graph.MulScalar(graph.OnePlus(graph.Cos(graph.MulScalar(progress, math.Pi))), 0.5)
		}
	}
	if s.Warmup > 0 {
		warm := graph.DivScalar(done, float64(s.Warmup))
		rate = graph.Where(graph.LessThan(warm, one), warm, rate)
	}
	return graph.MulScalar(rate, s.Rate)
}
