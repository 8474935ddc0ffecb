package whisper

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/melforge/melforge/trainer/optim"
)

// small is a Whisper that a test can train.
func small() Config {
	c := Default()
	c.Mels, c.Width, c.EncoderLayers, c.DecoderLayers = 6, 16, 2, 2
	c.EncoderHeads, c.DecoderHeads, c.EncoderFFN, c.DecoderFFN = 2, 4, 24, 32
	c.Vocabulary, c.MaxSource, c.MaxTarget = 20, 10, 12
	c.StartToken, c.PadToken, c.EndToken = 18, 19, 19
	return c
}

func goBackend(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func randomized(t testing.TB, c Config, seed uint64) *model.Store {
	t.Helper()
	store := model.NewStore()
	if err := c.Randomize(store, seed); err != nil {
		t.Fatal(err)
	}
	return store
}

func randoms(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func far(got, want float32, tolerance float64) bool {
	return !(math.Abs(float64(got-want)) <= tolerance*max(1, math.Abs(float64(want))))
}

func TestConvolutionIsTorchs(t *testing.T) {
	c := small()
	const batch, time = 2, 8
	in := map[int]int{1: c.Mels, 2: c.Width}
	for stride, channels := range in {
		name := map[int]string{1: "conv1", 2: "conv2"}[stride]
		store := randomized(t, c, 3)
		if err := c.Set(store, "model.encoder."+name+".bias", randoms(4, c.Width)); err != nil {
			t.Fatal(err)
		}
		x := randoms(5, batch*time*channels)
		m := &Model{Config: c}
		out, err := model.MustNewExec(goBackend(t), store, func(scope *model.Scope, x *graph.Node) *graph.Node {
			return m.convolution(scope.At("model").At("encoder").At("%s", name), x, stride)
		}).Call1(tensors.FromFlatDataAndDimensions(x, batch, time, channels))
		if err != nil {
			t.Fatal(err)
		}
		got := tensors.MustCopyFlatData[float32](out)
		w, _ := Get(store, "model.encoder."+name+".weight")
		bias, _ := Get(store, "model.encoder."+name+".bias")
		want := slowConvolution(x, w, bias, batch, time, channels, c.Width, stride)
		for i := range want {
			if len(got) != len(want) || far(got[i], want[i], 1e-5) {
				t.Fatalf("%s: value %d is %g, want %g", name, i, got[i], want[i])
			}
		}
	}
}

// slowConvolution is torch.nn.Conv1d by its definition, over [batch, time, channels].
func slowConvolution(x, w, bias []float32, batch, time, in, out, stride int) []float32 {
	var y []float32
	for b := range batch {
		for t := 0; t < time; t += stride {
			for o := range out {
				sum := float64(bias[o])
				for k := range 3 {
					if at := t + k - 1; at >= 0 && at < time {
						for c := range in {
							sum += float64(w[(o*in+c)*3+k]) * float64(x[(b*time+at)*in+c])
						}
					}
				}
				y = append(y, float32(sum))
			}
		}
	}
	return y
}

func TestCrossEntropyIgnores(t *testing.T) {
	const batch, length, vocabulary = 2, 3, 5
	logits := randoms(6, batch*length*vocabulary)
	labels := []int32{1, Ignored, 4, 0, 2, Ignored}
	out := graph.MustNewExec(goBackend(t), func(logits, labels *graph.Node) []*graph.Node {
		sum, count := crossEntropy(logits, labels)
		return []*graph.Node{sum, count, graph.Gradient(sum, logits)[0]}
	}).MustCall(tensors.FromFlatDataAndDimensions(logits, batch, length, vocabulary), tensors.FromFlatDataAndDimensions(labels, batch, length))
	grad := tensors.MustCopyFlatData[float32](out[2])
	var sum float64
	var count float32
	for i, label := range labels {
		row, slope := logits[i*vocabulary:(i+1)*vocabulary], grad[i*vocabulary:(i+1)*vocabulary]
		var total float64
		for _, l := range row {
			total += math.Exp(float64(l))
		}
		for k, l := range row {
			want := math.Exp(float64(l)) / total
			if label == int32(k) {
				want--
			}
			if label == Ignored {
				want = 0
			}
			if far(slope[k], float32(want), 1e-6) {
				t.Errorf("gradient %d of label %d is %g, want %g", k, label, slope[k], want)
			}
		}
		if label != Ignored {
			sum += math.Log(total) - float64(row[label])
			count++
		}
	}
	if got := out[0].Value().(float32); far(got, float32(sum), 1e-6) {
		t.Errorf("loss %g, want %g", got, sum)
	}
	if got := out[1].Value().(float32); got != count {
		t.Errorf("%g labels count, want %g", got, count)
	}
}

// lossOf runs the loss once, as in training or as in evaluation.
func lossOf(t *testing.T, m Model, training bool) float32 {
	t.Helper()
	c := m.Config
	store := randomized(t, c, 7)
	if err := store.SetRNGStateFromSeed(1); err != nil {
		t.Fatal(err)
	}
	out, err := model.MustNewExec(goBackend(t), store, func(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
		scope.Store().SetTraining(mels.Graph(), training)
		sum, _ := m.Loss(scope, []*graph.Node{mels, labels})
		return sum
	}).Call1(tensors.FromFlatDataAndDimensions(randoms(8, c.Mels*c.Frames()), 1, c.Mels, c.Frames()), [][]int32{{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Value().(float32)
}

func TestDropoutOnlyInTraining(t *testing.T) {
	plain, wet := Model{Config: small()}, Model{Config: small()}
	wet.Config.Dropout, wet.Config.AttentionDropout, wet.Config.ActivationDropout = 0.3, 0.2, 0.1
	want := lossOf(t, plain, false)
	if got := lossOf(t, wet, false); got != want {
		t.Errorf("dropout changed the loss of an evaluation from %g to %g", want, got)
	}
	if got := lossOf(t, wet, true); got == want || math.IsNaN(float64(got)) {
		t.Errorf("dropout left the loss of training at %g", got)
	}
	if got := lossOf(t, plain, true); got != want {
		t.Errorf("training without dropout has the loss %g, want %g", got, want)
	}
}

func TestFrozenEncoderStays(t *testing.T) {
	m := Model{Config: small(), FreezeEncoder: true}
	store := randomized(t, m.Config, 1)
	before := map[string][]float32{}
	for name := range m.Config.Shapes() {
		before[name], _ = Get(store, name)
	}
	o := optim.New(optim.Schedule{Shape: optim.Constant, Rate: 0.1})
	o.Decay = 0.1
	_, err := model.MustNewExec(goBackend(t), store, func(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
		sum, count := m.Loss(scope, []*graph.Node{mels, labels})
		vars := optim.Variables(scope, mels.Graph())
		o.Update(scope.Store(), vars, optim.Gradients(graph.Div(sum, count), vars))
		return sum
	}).Call(tensors.FromFlatDataAndDimensions(randoms(8, m.Config.Mels*m.Config.Frames()), 1, m.Config.Mels, m.Config.Frames()), [][]int32{{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	for name, was := range before {
		is, err := Get(store, name)
		if err != nil {
			t.Fatal(err)
		}
		if changed := !slices.Equal(is, was); changed != strings.HasPrefix(name, "model.decoder.") {
			t.Errorf("%s changed: %t", name, changed)
		}
	}
}

func TestWrongInputsAreErrors(t *testing.T) {
	m := Model{Config: small()}
	store := randomized(t, m.Config, 1)
	exec := model.MustNewExec(goBackend(t), store, func(scope *model.Scope, mels, labels *graph.Node) *graph.Node {
		sum, _ := m.Loss(scope, []*graph.Node{mels, labels})
		return sum
	})
	mels := func(bins, frames int) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(make([]float32, bins*frames), 1, bins, frames)
	}
	frames := m.Config.Frames()
	for _, c := range []struct {
		mels   *tensors.Tensor
		labels []int32
		want   string
	}{
		{mels(m.Config.Mels+1, frames), []int32{1}, "the model takes"},
		{mels(m.Config.Mels, frames-2), []int32{1}, "the model takes"},
		{mels(m.Config.Mels, frames), make([]int32, m.Config.MaxTarget+1), "13 tokens"},
	} {
		if _, err := exec.Call(c.mels, [][]int32{c.labels}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	empty := model.MustNewExec(goBackend(t), model.NewStore(), func(scope *model.Scope, mels *graph.Node) *graph.Node {
		return m.Encode(scope, mels)
	})
	if _, err := empty.Call(mels(m.Config.Mels, frames)); err == nil || !strings.Contains(err.Error(), "load or randomize") {
		t.Errorf("an empty store: %v", err)
	}
}
