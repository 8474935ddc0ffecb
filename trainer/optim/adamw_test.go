package optim

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// golden is testdata/adamw.json, which make_golden.py writes with torch.
type golden struct {
	Shapes map[string][]int
	Cases  []struct {
		Shape         Shape
		Rate          float64
		Warmup, Total int
		Decay, Clip   float64
		Start         map[string][]float32
		Steps         []goldenStep
	}
}

type goldenStep struct {
	Grads, Values map[string][]float32
	Norm, Rate    float64
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/adamw.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// harness updates named variables by given gradients.
type harness struct {
	names []string
	store *model.Store
	exec  *model.Exec
}

func path(name string) string { return "/" + strings.ReplaceAll(name, ".", "/") }

func newHarness(t *testing.T, o AdamW, shapes map[string][]int, start map[string][]float32) *harness {
	t.Helper()
	backend, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{names: slices.Sorted(maps.Keys(shapes)), store: model.NewStore()}
	for _, n := range h.names {
		if _, err := h.store.CreateVariable(path(n), tensors.FromFlatDataAndDimensions(slices.Clone(start[n]), shapes[n]...)); err != nil {
			t.Fatal(err)
		}
	}
	h.exec, err = model.NewExec(backend, h.store, func(scope *model.Scope, grads []*graph.Node) []*graph.Node {
		vars := make([]*model.Variable, len(h.names))
		for i, n := range h.names {
			vars[i] = scope.Store().GetVariable(path(n))
		}
		r := o.Update(scope.Store(), vars, grads)
		return []*graph.Node{r.Rate, r.Norm}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.exec.Finalize)
	return h
}

func (h *harness) step(t *testing.T, shapes map[string][]int, grads map[string][]float32) (rate, norm float64) {
	t.Helper()
	args := make([]any, len(h.names))
	for i, n := range h.names {
		args[i] = tensors.FromFlatDataAndDimensions(slices.Clone(grads[n]), shapes[n]...)
	}
	out, err := h.exec.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	return float64(out[0].Value().(float32)), float64(out[1].Value().(float32))
}

func (h *harness) value(t *testing.T, p string) []float32 {
	t.Helper()
	return tensors.MustCopyFlatData[float32](h.store.GetVariable(p).MustValue())
}

func far(got, want, tolerance float64) bool {
	return !(math.Abs(got-want) <= tolerance*max(1e-3, math.Abs(want)))
}

// float32 keeps seven digits, and twelve updates round twelve times.
const tolerance = 3e-6

func TestUpdateEqualsTorch(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Cases {
		o := New(Schedule{Shape: c.Shape, Rate: c.Rate, Warmup: c.Warmup, Total: c.Total})
		o.Decay, o.Clip = c.Decay, c.Clip
		h := newHarness(t, o, g.Shapes, c.Start)
		for i, s := range c.Steps {
			rate, norm := h.step(t, g.Shapes, s.Grads)
			if far(rate, s.Rate, tolerance) || far(norm, s.Norm, tolerance) || far(o.Schedule.At(i), s.Rate, 1e-9) {
				t.Errorf("%s, update %d: rate %g (At: %g), norm %g; torch: %g, %g", c.Shape, i, rate, o.Schedule.At(i), norm, s.Rate, s.Norm)
			}
			for n, want := range s.Values {
				for k, got := range h.value(t, path(n)) {
					if far(float64(got), float64(want[k]), tolerance) {
						t.Fatalf("%s, update %d, %s[%d]: %g, torch: %g", c.Shape, i, n, k, got, want[k])
					}
				}
			}
		}
		if n := h.store.GetVariable(stepName).MustValue().Value(); n != int64(len(c.Steps)) {
			t.Errorf("%v updates were counted of %d", n, len(c.Steps))
		}
	}
}

// A store with the same variables must go on with the same bits.
func TestUpdateResumes(t *testing.T) {
	g := readGolden(t)
	c := g.Cases[1]
	o := New(Schedule{Shape: c.Shape, Rate: c.Rate, Warmup: c.Warmup, Total: c.Total})
	o.Decay = c.Decay
	whole := newHarness(t, o, g.Shapes, c.Start)
	half := newHarness(t, o, g.Shapes, c.Start)
	for i, s := range c.Steps {
		if i == 5 {
			resumed := newHarness(t, o, g.Shapes, c.Start)
			for v := range half.store.IterVariables() {
				value, err := v.MustValue().LocalClone()
				if err != nil {
					t.Fatal(err)
				}
				w := resumed.store.GetVariable(v.Path())
				if w == nil {
					_, err = resumed.store.CreateVariable(v.Path(), value)
				} else {
					err = w.SetValue(value)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			half = resumed
		}
		whole.step(t, g.Shapes, s.Grads)
		half.step(t, g.Shapes, s.Grads)
	}
	paths := []string{firstName, secondName}
	for n := range g.Shapes {
		paths = append(paths, path(n))
	}
	for _, p := range paths {
		if !slices.Equal(whole.value(t, p), half.value(t, p)) {
			t.Errorf("%s differs after a resume", p)
		}
	}
}

func TestVariablesAndGradients(t *testing.T) {
	backend, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	var paths []string
	out, err := model.MustNewExec(backend, store, func(scope *model.Scope, x *graph.Node) []*graph.Node {
		b := scope.In("b").VariableWithValue("weight", []float32{2, 3})
		a := scope.In("a").VariableWithValue("weight", []float32{5, 7})
		frozen := scope.In("c").VariableWithValue("weight", []float32{1, 1}).SetTrainable(false)
		scope.In("d").VariableWithValue("weight", []float32{1, 1})
		loss := graph.ReduceAllSum(graph.Mul(graph.Mul(a.NodeValue(x), x), graph.Add(b.NodeValue(x), frozen.NodeValue(x))))
		vars := Variables(scope, x.Graph())
		for _, v := range vars {
			paths = append(paths, v.Path())
		}
		return Gradients(loss, vars)
	}).Call([]float32{1, 10})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/a/weight", "/b/weight"}; !slices.Equal(paths, want) {
		t.Errorf("variables %q, want %q", paths, want)
	}
	for i, want := range [][]float32{{3, 40}, {5, 70}} {
		if got := tensors.MustCopyFlatData[float32](out[i]); !slices.Equal(got, want) {
			t.Errorf("gradient of %s: %v, want %v", paths[i], got, want)
		}
	}
}

func TestBiasOrNorm(t *testing.T) {
	for p, want := range map[string]bool{
		"/model/encoder/layers/0/fc1/weight":                          false,
		"/model/encoder/layers/0/fc1/bias":                            true,
		"/model/encoder/layers/0/final_layer_norm/weight":             true,
		"/model/decoder/layers/0/encoder_attn_layer_norm/weight":      true,
		"/model/decoder/layer_norm/weight":                            true,
		"/model/decoder/embed_tokens/weight":                          false,
		"/model/encoder/conv1/weight":                                 false,
		"/model/norm/weight":                                          true,
		"/model/normal/weight":                                        false,
		"/model/decoder/layers/0/self_attn/out_proj/weight_layernorm": true,
	} {
		if got := BiasOrNorm(p); got != want {
			t.Errorf("BiasOrNorm(%s) = %t", p, got)
		}
	}
}

func TestScheduleValidate(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		want string
	}{
		{Schedule{Constant, 1e-3, 0, 0}, ""},
		{Schedule{Linear, 1e-3, 5, 10}, ""},
		{Schedule{Cosine, 1e-3, 10, 10}, "warm-up"},
		{Schedule{"wavy", 1e-3, 0, 1}, "unknown schedule"},
		{Schedule{Constant, 0, 0, 0}, "learning rate"},
		{Schedule{Constant, math.NaN(), 0, 0}, "learning rate"},
		{Schedule{Constant, 1, -1, 0}, "negative"},
	} {
		err := c.s.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}
