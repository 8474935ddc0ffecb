package hf

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	gomlx "github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
	"github.com/melforge/melforge/trainer/safetensors"
	"github.com/melforge/melforge/trainer/whisper"
)

// golden is what transformers computed with the model in a folder: see
// testdata/make_golden.py.
type golden struct {
	t      *testing.T
	file   *safetensors.File
	folder *Folder
}

func openGolden(t *testing.T, dir, path string) golden {
	t.Helper()
	folder, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return golden{t, file, folder}
}

func tiny(t *testing.T) golden { return openGolden(t, "testdata/tiny", "testdata/golden.safetensors") }

func (g golden) floats(name string) []float32 {
	g.t.Helper()
	v, err := readFloats(g.file, name)
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

func (g golden) ints(name string) []int32 {
	g.t.Helper()
	e, _ := g.file.Entry(name)
	bytes := make([]byte, e.Bytes())
	if err := g.file.Read(name, bytes); err != nil || e.DType != safetensors.I32 {
		g.t.Fatalf("%s of type %s: %v", name, e.DType, err)
	}
	v := make([]int32, len(bytes)/4)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
	return v
}

func (g golden) shape(name string) []int {
	e, _ := g.file.Entry(name)
	return e.Shape
}

// inputs are the mels and labels of the golden batch.
func (g golden) inputs() []any {
	return []any{
		gomlx.FromFlatDataAndDimensions(g.floats("mels"), g.shape("mels")...),
		gomlx.FromFlatDataAndDimensions(g.ints("labels"), g.shape("labels")...),
	}
}

func (g golden) store() *model.Store {
	g.t.Helper()
	store := model.NewStore()
	if err := g.folder.Load(store); err != nil {
		g.t.Fatal(err)
	}
	return store
}

func goBackend(t *testing.T) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// distance is the largest difference, relative to the largest value of want:
// single elements of a gradient may well be nothing but rounding.
func distance(got, want []float32) float64 {
	var diff, top float64
	for i := range want {
		diff = max(diff, math.Abs(float64(got[i])-float64(want[i])))
		top = max(top, math.Abs(float64(want[i])))
		if math.IsNaN(float64(got[i])) {
			return math.Inf(1)
		}
	}
	return diff / max(top, 1e-12)
}

// parity is the bar for loss and gradients against transformers in float32.
const parity = 1e-3

// gradients builds the mean loss and its gradients, and names them.
func gradients(m *whisper.Model, names *[]string) func(*model.Scope, *graph.Node, *graph.Node) []*graph.Node {
	return func(scope *model.Scope, mels, labels *graph.Node) []*graph.Node {
		sum, count := m.Loss(scope, []*graph.Node{mels, labels})
		loss := graph.Div(sum, count)
		vars := optim.Variables(scope, mels.Graph())
		*names = nil
		for _, v := range vars {
			*names = append(*names, strings.ReplaceAll(v.Path()[1:], "/", "."))
		}
		return append([]*graph.Node{loss}, optim.Gradients(loss, vars)...)
	}
}

func (g golden) checkGradients(backend compute.Backend, m *whisper.Model, bar float64) {
	t := g.t
	t.Helper()
	var names []string
	out, err := model.MustNewExec(backend, g.store(), gradients(m, &names)).Call(g.inputs()...)
	if err != nil {
		t.Fatal(err)
	}
	want := float64(g.floats("loss")[0])
	if got := float64(out[0].Value().(float32)); !(math.Abs(got-want) <= bar*want) {
		t.Errorf("loss %g, transformers: %g", got, want)
	}
	checked := 0
	for _, name := range g.file.Names() {
		if name, ok := strings.CutPrefix(name, "grad."); ok && !slices.Contains(names, name) {
			t.Errorf("no gradient of %s", name)
		}
	}
	worst := 0.0
	for i, name := range names {
		far := distance(gomlx.MustCopyFlatData[float32](out[i+1]), g.floats("grad."+name))
		if !(far <= bar) {
			t.Errorf("gradient of %s is off by %g", name, far)
		}
		worst, checked = max(worst, far), checked+1
	}
	t.Logf("%d gradients, the worst off by %.1e", checked, worst)
}

func TestLossAndGradientsEqualTransformers(t *testing.T) {
	g := tiny(t)
	for _, checkpoint := range []bool{false, true} {
		g.checkGradients(goBackend(t), &whisper.Model{Config: g.folder.Config, Checkpoint: checkpoint}, parity)
	}
}

// bfloat16 keeps eight bits: its gradients are near those of float32.
func TestHalfIsNear(t *testing.T) {
	g := tiny(t)
	g.checkGradients(goBackend(t), &whisper.Model{Config: g.folder.Config, Half: true}, 0.05)
}

func logits(t *testing.T, backend compute.Backend, store *model.Store, m *whisper.Model, inputs []any) []float32 {
	t.Helper()
	out, err := model.MustNewExec(backend, store, func(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
		return m.Logits(scope, mels, labels)
	}).Call1(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return gomlx.MustCopyFlatData[float32](out)
}

func TestTrainingEqualsTransformers(t *testing.T) {
	g := tiny(t)
	g.checkTraining(goBackend(t))
}

// checkTraining runs the golden's training and compares every loss and the
// logits after it.
func (g golden) checkTraining(backend compute.Backend) *model.Store {
	t := g.t
	t.Helper()
	store := g.store()
	m := &whisper.Model{Config: g.folder.Config}
	losses := g.floats("losses")
	o := optim.New(optim.Schedule{Shape: optim.Cosine, Rate: 3e-3, Warmup: 4, Total: len(losses)})
	o.Decay = 0.1
	step := model.MustNewExec(backend, store, func(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
		sum, count := m.Loss(scope, []*graph.Node{mels, labels})
		loss := graph.Div(sum, count)
		vars := optim.Variables(scope, mels.Graph())
		o.Update(scope.Store(), vars, optim.Gradients(loss, vars))
		return loss
	})
	defer step.Finalize()
	for i, want := range losses {
		out, err := step.Call1(g.inputs()...)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Value().(float32); !(math.Abs(float64(got-want)) <= 1e-4*float64(want)) {
			t.Errorf("loss before update %d: %g, transformers: %g", i, got, want)
		}
	}
	if far := distance(logits(t, backend, store, m, g.inputs()), g.floats("trained.logits")); !(far <= parity) {
		t.Errorf("logits after %d updates are off by %g", len(losses), far)
	}
	return store
}

func TestLogitsEqualTransformers(t *testing.T) {
	g := tiny(t)
	m := &whisper.Model{Config: g.folder.Config}
	if far := distance(logits(t, goBackend(t), g.store(), m, g.inputs()), g.floats("logits")); !(far <= 1e-5) {
		t.Errorf("logits are off by %g", far)
	}
}

func TestGreedyEqualsTransformers(t *testing.T) {
	g := tiny(t)
	g.checkGreedy(goBackend(t), "en")
}

func (g golden) checkGreedy(backend compute.Backend, language string) {
	t := g.t
	t.Helper()
	tokenizer, err := g.folder.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := tokenizer.Prompt(language)
	if err != nil {
		t.Fatal(err)
	}
	greedy, err := whisper.NewGreedy(backend, g.store(), whisper.Model{Config: g.folder.Config}, g.folder.Rules(prompt))
	if err != nil {
		t.Fatal(err)
	}
	defer greedy.Finalize()
	got, err := greedy.Transcribe(g.inputs()[0].(*gomlx.Tensor))
	if err != nil {
		t.Fatal(err)
	}
	width := g.shape("transcripts")[1]
	all := g.ints("transcripts")
	for i, tokens := range got {
		want := all[i*width : (i+1)*width]
		if !slices.Equal(want[:len(prompt)], prompt) {
			t.Fatalf("transformers' prompt is %v, ours %v", want[:len(prompt)], prompt)
		}
		want = want[len(prompt):]
		if end := slices.Index(want, int32(g.folder.Config.EndToken)); end >= 0 {
			want = want[:end]
		}
		if !slices.Equal(tokens, want) {
			t.Errorf("clip %d: %v, transformers: %v", i, tokens, want)
		}
	}
}
