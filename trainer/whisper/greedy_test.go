package whisper

import (
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// slowGreedy decodes the whole transcript again for every token.
func slowGreedy(t *testing.T, backend compute.Backend, store *model.Store, m Model, rules Rules, mels []float32) []int32 {
	t.Helper()
	c := m.Config
	tokens := slices.Clone(rules.Prompt)
	exec := model.MustNewExec(backend, store, func(scope *model.Scope, mels, tokens *graph.Node) *graph.Node {
		return m.Decode(scope, m.Encode(scope, mels), tokens)
	})
	for len(tokens) < rules.MaxLength {
		out, err := exec.Call1(tensors.FromFlatDataAndDimensions(slices.Clone(mels), 1, c.Mels, c.Frames()), [][]int32{tokens})
		if err != nil {
			t.Fatal(err)
		}
		all := tensors.MustCopyFlatData[float32](out)
		logits := all[len(all)-c.Vocabulary:]
		best := int32(-1)
		for k := range logits {
			banned := slices.Contains(rules.Suppress, int32(k)) ||
				len(tokens) == len(rules.Prompt) && slices.Contains(rules.SuppressFirst, int32(k))
			if !banned && (best < 0 || logits[k] > logits[best]) {
				best = int32(k)
			}
		}
		if best == rules.End {
			break
		}
		tokens = append(tokens, best)
	}
	return tokens[len(rules.Prompt):]
}

func TestGreedyEqualsDecodingAgain(t *testing.T) {
	c := small()
	backend := goBackend(t)
	const batch = 3
	lengths := map[int]bool{}
	for seed := range uint64(6) {
		store := randomized(t, c, seed)
		rules := Rules{Prompt: []int32{18, 3}, Suppress: []int32{5, 6}, SuppressFirst: []int32{19, 7}, End: 19, MaxLength: c.MaxTarget}
		m := Model{Config: c}
		greedy, err := NewGreedy(backend, store, m, rules)
		if err != nil {
			t.Fatal(err)
		}
		mels := randoms(seed, batch*c.Mels*c.Frames())
		got, err := greedy.Transcribe(tensors.FromFlatDataAndDimensions(slices.Clone(mels), batch, c.Mels, c.Frames()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			one := len(mels) / batch
			want := slowGreedy(t, backend, store, m, rules, mels[i*one:(i+1)*one])
			if !slices.Equal(got[i], want) {
				t.Errorf("seed %d, clip %d: %v, want %v", seed, i, got[i], want)
			}
			lengths[len(want)] = true
		}
		greedy.Finalize()
	}
	if len(lengths) < 2 {
		t.Errorf("all transcripts are of the length %v: the end is not tested", lengths)
	}
}

func TestGreedyRefusesRules(t *testing.T) {
	c := small()
	for _, r := range []Rules{
		{MaxLength: 5},
		{Prompt: []int32{1, 2}, MaxLength: 2},
		{Prompt: []int32{1}, MaxLength: c.MaxTarget + 1},
	} {
		if _, err := NewGreedy(goBackend(t), model.NewStore(), Model{Config: c}, r); err == nil {
			t.Errorf("%+v was taken", r)
		}
	}
}

func TestBenchRuns(t *testing.T) {
	for _, stage := range []Stage{Encoder, Forward, Backward, Update} {
		for _, resident := range []bool{false, true} {
			warm := 0
			b := Bench{Model: Model{Config: small(), Half: true}, Stage: stage, Batch: 2, Labels: 4, Steps: 2, Resident: resident, Warm: func() { warm++ }}
			r, err := b.Run(goBackend(t))
			if err != nil {
				t.Fatalf("%s: %v", stage, err)
			}
			if r.Step <= 0 || r.Compile <= 0 || warm != 1 {
				t.Errorf("%s: %+v, warm %d times", stage, r, warm)
			}
			if trained := r.First != r.Last; trained != (stage == Update) {
				t.Errorf("%s: loss %g, then %g", stage, r.First, r.Last)
			}
		}
	}
}
