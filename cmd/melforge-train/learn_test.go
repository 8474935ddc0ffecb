package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func needEspeak(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed: make setup installs it")
	}
}

// vocabulary is what the test's utterances are made of.
var vocabulary = strings.Fields("red green blue black white open close the door window light on off turn left right up down stop go")

// spoken makes a dataset of n short utterances through the real pipeline.
func spoken(t testing.TB, n int, voice string) string {
	t.Helper()
	needEspeak(t)
	r := rand.New(rand.NewPCG(7, 7))
	lines := map[string]bool{}
	var corpus strings.Builder
	for len(lines) < n {
		words := make([]string, 2+r.IntN(2))
		for i := range words {
			words[i] = vocabulary[r.IntN(len(vocabulary))]
		}
		if line := strings.Join(words, " "); !lines[line] {
			lines[line] = true
			fmt.Fprintln(&corpus, line)
		}
	}
	dir := t.TempDir()
	file, data := filepath.Join(dir, "corpus.txt"), filepath.Join(dir, "dataset")
	write(t, file, []byte(corpus.String()))
	forge(t, "run", file, "--out", data, "--voice", voice, "--engine", "cpu")
	return data
}

// TestLearns is the proof that datasets can be learned from: 64 utterances are
// spoken, their mels computed and stored, a model is trained on them from
// scratch in pure Go, and it then writes down what was said.
func TestLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes about a minute")
	}
	data := spoken(t, 64, "espeak/en-us")
	out := filepath.Join(t.TempDir(), "run")
	printed := ok(t, "ctc", data, "--out", out, "--json", "--seed", "1", "--target-wer", "0")
	m := messages(t, printed)["summary"][0]
	t.Logf("%.1f %% transcribed exactly, WER %.2f %%, after %v steps in %.1f s; waited %.3f %% of the steps' time",
		100*m["exact"].(float64), 100*m["wer"].(float64), m["last_step"], m["wall_seconds"], 100*m["wait_share"].(float64))
	if exact := m["exact"].(float64); exact < 0.95 {
		t.Errorf("%.1f %% of the utterances were transcribed exactly, want 95 %%", 100*exact)
	}
	b, err := os.ReadFile(filepath.Join(out, "transcripts.jsonl"))
	if err != nil || strings.Count(string(b), `"message_type":"transcript"`) != 64 {
		t.Errorf("%d bytes of transcripts, error %v", len(b), err)
	}
}

// TestKilled kills a training with SIGKILL, and wants the rest to be that of one
// that was never disturbed.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for a while")
	}
	data := tones(t, 1, 9000, fewTexts)
	flags := []string{"ctc", data, "--json", "--steps", "60", "--batch", "3", "--save-every", "4", "--spec-augment", "--eval-every", "0"}
	want := losses(t, ok(t, append(flags, "--out", filepath.Join(t.TempDir(), "whole"))...))
	out := filepath.Join(t.TempDir(), "killed")
	if o := exitAfter(t, os.Kill, 13, append(flags, "--out", out)...); o.code != -1 {
		t.Fatalf("it ended by itself with exit %d", o.code)
	}
	rest := losses(t, ok(t, append(flags, "--out", out, "--resume")...))
	if len(rest) == 0 || len(rest) > 48 {
		t.Errorf("%d steps were left of 60", len(rest))
	}
	for step, loss := range rest {
		if loss != want[step] {
			t.Errorf("step %d: loss %v, undisturbed %v", step, loss, want[step])
		}
	}
}

// TestCompare wants the same losses whether mels are made on the fly or were
// made before.
func TestCompare(t *testing.T) {
	data := spoken(t, 8, "espeak/en-us")
	for _, more := range [][]string{nil, {"--ahead"}, {"--model", tinyWhisper(t, nil)}} {
		args := append([]string{"compare", data, "--json", "--steps", "3", "--batch", "4"}, more...)
		m := messages(t, ok(t, args...))["comparison"][0]
		if m["same_losses"] != true || m["mels"] != m["same_mels"] || m["mels"].(float64) < 12 {
			t.Errorf("%v: %v", more, m)
		}
	}
	m := messages(t, ok(t, "compare", data, "--json", "--steps", "2", "--batch", "4", "--voice", "espeak/en-gb"))["comparison"][0]
	if m["same_mels"].(float64) != 0 || m["same_losses"] != false {
		t.Errorf("another voice gave the same: %v", m)
	}
	text := ok(t, "compare", data, "--steps", "1", "--batch", "4")
	for _, want := range []string{"seconds per iteration", "samples/s", "waiting for data", "times as fast", "were the same"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
