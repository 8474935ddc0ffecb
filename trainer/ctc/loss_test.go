package ctc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// tolerance is what float32 logits leave of a loss computed in float64.
const tolerance = 1e-6

func backend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reference is the twin of Loss for one clip, from the definition: the sum
// over every frame and state, and the gradient from the forward and backward
// variables as Graves wrote them, in float64.
func reference(logits [][]float64, labels []int) (loss float64, gradient [][]float64) {
	frames, states := len(logits), 2*len(labels)+1
	class := make([]int, states)
	for i, l := range labels {
		class[2*i+1] = l
	}
	chance := make([][]float64, frames)
	for t, row := range logits {
		chance[t] = softmax(row)
	}
	jumps := func(s int) bool { return s >= 2 && class[s] != Blank && class[s] != class[s-2] }
	forward, backward := table(frames, states), table(frames, states)
	for t := range frames {
		for s := range states {
			var in float64
			switch {
			case t == 0 && s <= 1:
				in = 1
			case t > 0:
				in = forward[t-1][s]
				if s >= 1 {
					in += forward[t-1][s-1]
				}
				if jumps(s) {
					in += forward[t-1][s-2]
				}
			}
			forward[t][s] = in * chance[t][class[s]]
		}
	}
	for t := frames - 1; t >= 0; t-- {
		for s := states - 1; s >= 0; s-- {
			if t == frames-1 {
				if s >= states-2 {
					backward[t][s] = 1
				}
				continue
			}
			backward[t][s] = backward[t+1][s] * chance[t+1][class[s]]
			if s+1 < states {
				backward[t][s] += backward[t+1][s+1] * chance[t+1][class[s+1]]
			}
			if s+2 < states && jumps(s+2) {
				backward[t][s] += backward[t+1][s+2] * chance[t+1][class[s+2]]
			}
		}
	}
	total := 0.0
	for s := max(0, states-2); s < states; s++ {
		total += forward[frames-1][s]
	}
	gradient = make([][]float64, frames)
	for t := range gradient {
		gradient[t] = chance[t]
		for s := range states {
			gradient[t][class[s]] -= forward[t][s] * backward[t][s] / total
		}
	}
	return -math.Log(total), gradient
}

func table(rows, columns int) [][]float64 {
	t := make([][]float64, rows)
	for i := range t {
		t[i] = make([]float64, columns)
	}
	return t
}

func softmax(row []float64) []float64 {
	out, sum := make([]float64, len(row)), 0.0
	for i, x := range row {
		out[i] = math.Exp(x)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// brute sums over every path there is.
func brute(logits [][]float64, labels []int) float64 {
	chance := make([][]float64, len(logits))
	for t, row := range logits {
		chance[t] = softmax(row)
	}
	path, total := make([]int32, len(logits)), 0.0
	var walk func(t int, p float64)
	walk = func(t int, p float64) {
		if t == len(path) {
			got := Collapse(path)
			same := len(got) == len(labels)
			for i := range min(len(got), len(labels)) {
				same = same && int(got[i]) == labels[i]
			}
			if same {
				total += p
			}
			return
		}
		for v := range chance[t] {
			path[t] = int32(v)
			walk(t+1, p*chance[t][v])
		}
	}
	walk(0, 1)
	return -math.Log(total)
}

func TestReferenceEqualsAllPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, labels := range [][]int{{}, {1}, {1, 1}, {2, 1}, {1, 2, 1}, {2, 2, 2}} {
		logits := table(6, 3)
		for _, row := range logits {
			for i := range row {
				row[i] = r.NormFloat64()
			}
		}
		got, _ := reference(logits, labels)
		if want := brute(logits, labels); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("labels %v: %v, over all paths %v", labels, got, want)
		}
	}
}

// lossCase is a batch with clips of different lengths.
type lossCase struct {
	name    string
	v, t, l int
	labels  [][]int
	frames  []int
	scale   float64 // of the logits
}

func TestLossEqualsReference(t *testing.T) {
	b := backend(t)
	exec := graph.MustNewExec(b, func(x, labels, frames, lengths *graph.Node) []*graph.Node {
		loss := graph.ReduceAllSum(Loss(x, labels, frames, lengths))
		return []*graph.Node{loss, graph.Gradient(loss, x)[0]}
	})
	for _, c := range []lossCase{
		{"mixed", 6, 17, 5, [][]int{{1, 2, 2, 3, 5}, {4, 4, 4}, {1}}, []int{17, 12, 6}, 1},
		{"just fits", 4, 7, 4, [][]int{{1, 1, 2, 2}, {1, 2, 3}}, []int{7, 3}, 1},
		{"no labels", 5, 9, 2, [][]int{{}, {1, 2}}, []int{5, 9}, 1},
		{"one frame", 5, 1, 1, [][]int{{2}, {}}, []int{1, 1}, 1},
		{"confident", 8, 40, 6, [][]int{{1, 2, 3, 4, 5, 6}, {7, 7}}, []int{40, 33}, 8},
		{"long", 30, 200, 25, [][]int{{1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 10, 11, 12, 29}, {5, 4}}, []int{200, 150}, 2},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, exec) })
	}
}

func (c lossCase) check(t *testing.T, exec *graph.Exec) {
	r := rand.New(rand.NewPCG(3, uint64(c.t)))
	n := len(c.labels)
	logits, labels := make([]float32, n*c.t*c.v), make([]int32, n*c.l)
	frames, lengths := make([]int32, n), make([]int32, n)
	for i := range logits {
		logits[i] = float32(c.scale * r.NormFloat64())
	}
	var want float64
	slope := make([]float64, len(logits))
	for i, l := range c.labels {
		frames[i], lengths[i] = int32(c.frames[i]), int32(len(l))
		for k, u := range l {
			labels[i*c.l+k] = int32(u)
		}
		rows := table(c.frames[i], c.v)
		for k, row := range rows {
			for v := range row {
				row[v] = float64(logits[(i*c.t+k)*c.v+v])
			}
		}
		loss, gradient := reference(rows, l)
		want += loss
		for k, row := range gradient {
			copy(slope[(i*c.t+k)*c.v:], row)
		}
	}
	out := exec.MustCall(tensors.FromFlatDataAndDimensions(logits, n, c.t, c.v), tensors.FromFlatDataAndDimensions(labels, n, c.l),
		tensors.FromValue(frames), tensors.FromValue(lengths))
	if got := float64(out[0].Value().(float32)); math.Abs(got-want) > tolerance*max(1, want) {
		t.Errorf("loss %v, want %v", got, want)
	}
	worst := 0.0
	for i, got := range tensors.MustCopyFlatData[float32](out[1]) {
		worst = max(worst, math.Abs(float64(got)-slope[i]))
	}
	if worst > tolerance {
		t.Errorf("gradient differs by up to %v", worst)
	}
}

func TestLossOfWhatDoesNotFit(t *testing.T) {
	exec := graph.MustNewExec(backend(t), func(x, labels, frames, lengths *graph.Node) []*graph.Node {
		loss := Loss(x, labels, frames, lengths)
		return []*graph.Node{loss, graph.Gradient(graph.ReduceAllSum(loss), x)[0]}
	})
	out := exec.MustCall([][][]float32{{{1, 2, 3}, {1, 1, 1}}}, [][]int32{{1, 1}}, []int32{2}, []int32{2})
	if got := out[0].Value().([]float32)[0]; got != 0 {
		t.Errorf("loss %v, want 0", got)
	}
	for _, v := range tensors.MustCopyFlatData[float32](out[1]) {
		if v != 0 {
			t.Errorf("gradient %v, want 0", v)
		}
	}
	if Needs([]int32{1, 1}) != 3 {
		t.Errorf("Needs(1, 1) = %d, want 3", Needs([]int32{1, 1}))
	}
}
