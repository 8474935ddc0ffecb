package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput wants everything that cannot be trained on to be named before
// the first step.
func TestBadInput(t *testing.T) {
	good := tones(t, 1, 9000, fewTexts)
	model := tinyWhisper(t, nil)
	for _, c := range []struct {
		name string
		args []string
		want []string // in what it says
	}{
		{"no dataset", []string{"ctc"}, []string{"name the dataset"}},
		{"no folder", []string{"ctc", "nowhere"}, []string{"nowhere", "no dataset"}},
		{"no out", []string{"ctc", good, "--out", ""}, []string{"--out run"}},
		{"unknown command", []string{"wisper", good}, []string{"unknown command wisper", "whisper"}},
		{"unknown flag", []string{"ctc", good, "--learning-rate", "1"}, []string{"--learning-rate"}},
		{"empty dataset", []string{"ctc", tones(t, 1, 1, fewTexts[:1])}, []string{"has no mels"}},
		{"everything kept out", []string{"ctc", tones(t, 1, 9000, fewTexts[:1]), "--eval-split", "0.999999"}, []string{"--eval-split", "smaller part"}},
		{"batch", []string{"ctc", good, "--batch", "many"}, []string{"--batch many"}},
		{"batch auto on the CPU", []string{"whisper", good, "--model", model, "--batch", "auto", "--eval-split", "0"}, []string{"--backend xla"}},
		{"units", []string{"ctc", good, "--units", "syllables"}, []string{"syllables", "characters or words"}},
		{"text too long for ctc", []string{"ctc", tones(t, 1, 9000, []string{strings.Repeat("aa ", 16)}), "--stack", "3"}, []string{"clip00", "its text needs", "--stack"}},
		{"schedule", []string{"ctc", good, "--schedule", "zigzag"}, []string{"zigzag", "cosine"}},
		{"warm-up too long", []string{"ctc", good, "--steps", "10", "--warmup", "10"}, []string{"warm-up"}},
		{"learning rate", []string{"ctc", good, "--lr", "0"}, []string{"learning rate"}},
		{"resume of nothing", []string{"ctc", good, "--resume"}, []string{"no checkpoint"}},
		{"no model", []string{"whisper", good}, []string{"--model"}},
		{"model is no folder", []string{"whisper", good, "--model", good}, []string{"config.json"}},
		{"other mels", []string{"whisper", tones(t, 1, 9000, fewTexts, "--mel", "whisper-128"), "--model", model}, []string{"whisper-128", "128 bins", "--mel whisper-80"}},
		{"other mels of the same size", []string{"whisper", tones(t, 1, 9000, fewTexts, "--mel", "nemo-80"), "--model", model}, []string{"--mel whisper-80"}},
		{"no tokenizer", []string{"whisper", good, "--model", without(t, "tokenizer.json")}, []string{"tokenizer.json", "save_pretrained"}},
		{"wrong tokenizer", []string{"whisper", good, "--model", shifted(t)}, []string{"tokenizer.json does not belong to", "decoder_start_token_id"}},
		{"other vocabulary", []string{"whisper", good, "--model", tinyWhisper(t, map[string]any{"vocab_size": 280})}, []string{"vocab_size 280"}},
		{"weights of another shape", []string{"whisper", good, "--model", otherConfig(t)}, []string{"shape", "config.json needs"}},
		{"labels too long", []string{"whisper", tones(t, 12, 9000, []string{strings.Repeat("xq", 230)}), "--eval-split", "0", "--model",
			tinyWhisper(t, map[string]any{"max_target_positions": 448, "max_source_positions": 700})}, []string{"clip00", "takes 448"}},
		{"clip too long", []string{"whisper", tones(t, 3, 9000, fewTexts), "--eval-split", "0", "--model", model}, []string{"clip00", "hears 150", "--max-seconds"}},
		{"unknown language", []string{"whisper", good, "--model", model, "--language", "tlh"}, []string{`"tlh"`}},
		{"dtype", []string{"whisper", good, "--model", model, "--dtype", "float8"}, []string{"float8"}},
		{"backend", []string{"ctc", good, "--backend", "tpu"}, []string{"--backend tpu"}},
		{"no plugin", []string{"ctc", good, "--backend", "xla"}, noPlugin("no PJRT plugin is named", "--plugin", "MELFORGE_PJRT_PLUGIN", "jax-cuda13-pjrt")},
		{"missing plugin", []string{"ctc", good, "--backend", "xla", "--plugin", "/no/such.so"}, noPlugin("/no/such.so", "jax-cuda13-pjrt")},
		{"broken plugin", []string{"ctc", good, "--backend", "xla", "--plugin", "input_test.go"}, noPlugin("does not start")},
		{"compare of given sounds", []string{"compare", good}, []string{"not just spoken", "--voice"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			args := c.args
			if args[0] != "compare" && args[0] != "wisper" && !strings.Contains(strings.Join(args, " "), "--out") {
				args = append(args, "--out", out)
			}
			refuse(t, args, c.want...)
			if _, err := os.Stat(filepath.Join(out, "checkpoints", "steps.jsonl")); err == nil {
				t.Error("it began to train")
			}
		})
	}
}

// refuse wants exit code 2 and an explanation.
func refuse(t *testing.T, args []string, want ...string) {
	t.Helper()
	o := run(t, args...)
	if o.code != exitUsage {
		t.Fatalf("exit %d, want %d\n%s%s", o.code, exitUsage, o.out, o.stderr)
	}
	for _, w := range want {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("it does not say %q: %s", w, o.stderr)
		}
	}
}

// noPlugin is what is said with XLA, or without it that there is none.
func noPlugin(want ...string) []string {
	if !hasXLA {
		return []string{"without cgo", "--backend go"}
	}
	return want
}

// TestAnotherModelsCheckpoint wants the checkpoint of one model not to be taken
// for another's, nor to be overwritten.
func TestAnotherModelsCheckpoint(t *testing.T) {
	data := tones(t, 1, 9000, fewTexts)
	for _, c := range []struct {
		name       string
		one, other []string
	}{
		{"ctc", []string{"ctc", data}, []string{"ctc", data, "--width", "48"}},
		{
			"whisper", []string{"whisper", data, "--eval-split", "0", "--model", tinyWhisper(t, nil)},
			[]string{"whisper", data, "--eval-split", "0", "--model", tinyWhisper(t, map[string]any{"d_model": 32})},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			common := []string{"--out", filepath.Join(t.TempDir(), "run"), "--steps", "2", "--warmup", "0", "--batch", "4"}
			ok(t, append(c.one, common...)...)
			refuse(t, append(append(c.other, common...), "--resume"), "another model", "step-00000002")
			refuse(t, append(c.other, common...), "--resume", "earlier run")
		})
	}
}

// without is a model's folder that lacks a file.
func without(t *testing.T, name string) string {
	dir := tinyWhisper(t, nil)
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shifted is a model's folder with a tokenizer whose special tokens have the
// numbers of another model.
func shifted(t *testing.T) string {
	dir := tinyWhisper(t, nil)
	path := filepath.Join(dir, "tokenizer.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("277", "278", "278", "277").Replace(string(b))
	write(t, path, []byte(text))
	return dir
}

// otherConfig is a model's folder whose weights are not those of its
// config.json.
func otherConfig(t *testing.T) string {
	dir, other := tinyWhisper(t, nil), tinyWhisper(t, map[string]any{"d_model": 32})
	b, err := os.ReadFile(filepath.Join(other, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config.json"), b)
	return dir
}
