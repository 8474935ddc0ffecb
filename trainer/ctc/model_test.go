package ctc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
)

func testModel(t testing.TB) (*Model, *model.Store) {
	t.Helper()
	u, err := NewUnits(Characters, []string{"some letters to begin with"})
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	store.RootScope().SetParam(model.ParamInitialSeed, int64(5))
	return &Model{Config: Default(8, u)}, store
}

// mels are random clips [len(frames), 8, width], which say pad where they end.
func mels(frames []int32, width int, pad float32) *tensors.Tensor {
	flat := make([]float32, len(frames)*8*width)
	for i, n := range frames {
		r := rand.New(rand.NewPCG(4, uint64(i)))
		for t := range width {
			for m := range 8 {
				x := pad
				if t < int(n) {
					x = float32(r.NormFloat64())
				}
				flat[(i*8+m)*width+t] = x
			}
		}
	}
	return tensors.FromFlatDataAndDimensions(flat, len(frames), 8, width)
}

// TestPaddingDoesNotMatter wants the same logits however wide a batch is and
// whatever its padding says.
func TestPaddingDoesNotMatter(t *testing.T) {
	m, store := testModel(t)
	exec := model.MustNewExec(backend(t), store, func(scope *model.Scope, x, frames *graph.Node) *graph.Node {
		return m.Logits(scope, x, frames)
	})
	frames := []int32{40, 23, 1}
	narrow := exec.MustCall1(mels(frames, 40, 0), frames).Value().([][][]float32)
	wide := exec.MustCall1(mels(frames, 101, -7), frames).Value().([][][]float32)
	for i, n := range frames {
		for k := range m.Config.Frames(int(n)) {
			for v := range narrow[i][k] {
				if d := math.Abs(float64(narrow[i][k][v] - wide[i][k][v])); d > 1e-5 {
					t.Fatalf("clip %d, frame %d, class %d: %v and %v", i, k, v, narrow[i][k][v], wide[i][k][v])
				}
			}
		}
	}
}

func TestPathEndsWithTheClip(t *testing.T) {
	m, store := testModel(t)
	exec := model.MustNewExec(backend(t), store, func(scope *model.Scope, x, frames *graph.Node) *graph.Node {
		return m.Path(scope, x, frames)
	})
	frames := []int32{40, 9}
	path := exec.MustCall1(mels(frames, 40, 0), frames).Value().([][]int32)
	if len(path[0]) != 10 || !slices.Equal(path[1][3:], make([]int32, 7)) {
		t.Errorf("paths %v", path)
	}
}

func TestModelCountsClips(t *testing.T) {
	m, store := testModel(t)
	exec := model.MustNewExec(backend(t), store, func(scope *model.Scope, in []*graph.Node) []*graph.Node {
		sum, count := m.Loss(scope, in)
		return []*graph.Node{sum, count}
	})
	frames := []int32{40, 23}
	out := exec.MustCall(mels(frames, 40, 0), [][]int32{{1, 2}, {3, 0}}, frames, []int32{2, 1})
	if sum, count := out[0].Value().(float32), out[1].Value().(float32); count != 2 || !(sum > 0) {
		t.Errorf("sum %v over %v clips", sum, count)
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		kind       Kind
		text, want string
		classes    int
	}{
		{Characters, "Hello, World!", "hello world", 9},
		{Words, "Hello, World! hello", "hello world hello", 3},
	} {
		u, err := NewUnits(c.kind, []string{c.text})
		if err != nil {
			t.Fatal(err)
		}
		labels, err := u.Encode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Decode(labels); got != c.want || u.Classes() != c.classes {
			t.Errorf("%s: %q of %d classes, want %q of %d", c.kind, got, u.Classes(), c.want, c.classes)
		}
		if _, err := u.Encode("zebra"); err == nil {
			t.Errorf("%s: an unknown unit was encoded", c.kind)
		}
	}
	for _, bad := range []Kind{"syllables", Characters} {
		if _, err := NewUnits(bad, []string{"…"}); err == nil {
			t.Errorf("units %s of no text were made", bad)
		}
	}
}

func TestCollapse(t *testing.T) {
	got := Collapse([]int32{0, 3, 3, 0, 3, 2, 2, 2, 1, 0, 0})
	if !slices.Equal(got, []int32{3, 3, 2, 1}) {
		t.Errorf("collapsed to %v", got)
	}
}

func TestFingerprint(t *testing.T) {
	m, _ := testModel(t)
	other := &Model{Config: m.Config}
	if m.Fingerprint() != other.Fingerprint() {
		t.Error("equal models differ")
	}
	other.Config.Width++
	if m.Fingerprint() == other.Fingerprint() {
		t.Error("different models are equal")
	}
}

// BenchmarkStep is one training step of 16 clips of 1.3 s.
func BenchmarkStep(b *testing.B) {
	const clips, frames, labels = 16, 128, 16
	m, store := testModel(b)
	m.Config.Mels = 80
	o := optim.New(optim.Schedule{Shape: optim.Constant, Rate: 1e-3})
	exec := model.MustNewExec(backend(b), store, func(scope *model.Scope, in []*graph.Node) *graph.Node {
		sum, _ := m.Loss(scope, in)
		vars := optim.Variables(scope, sum.Graph())
		o.Update(scope.Store(), vars, optim.Gradients(sum, vars))
		return sum
	})
	x := tensors.FromFlatDataAndDimensions(make([]float32, clips*80*frames), clips, 80, frames)
	y, n, l := make([]int32, clips*labels), make([]int32, clips), make([]int32, clips)
	for i := range y {
		y[i] = int32(1 + i%7)
	}
	for i := range n {
		n[i], l[i] = frames, labels
	}
	args := []any{x, tensors.FromFlatDataAndDimensions(y, clips, labels), n, l}
	for b.Loop() {
		exec.MustCall1(args...)
	}
}
