package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/trainer/hf"
)

// fewTexts are spoken by the tones of the tests.
var fewTexts = []string{"a b", "b c", "c d", "d e", "e f", "f g", "g h", "h a"}

func TestWhisper(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for a while")
	}
	data := tones(t, 1, 9000, fewTexts)
	from := tinyWhisper(t, map[string]any{"d_model": 32})
	flags := []string{
		"whisper", data, "--model", from, "--json", "--batch", "4", "--lr", "3e-3", "--warmup", "5",
		"--eval-split", "0", "--eval-every", "20", "--save-every", "10", "--schedule", "cosine", "--weight-decay", "0.01",
	}
	whole := filepath.Join(t.TempDir(), "whole")
	out := ok(t, append(flags, "--out", whole, "--steps", "60")...)
	want := losses(t, out)
	if len(want) != 60 || !(want[60] < want[1]/2) {
		t.Errorf("%d steps, loss from %v to %v", len(want), want[1], want[60])
	}
	summary := messages(t, out)["summary"][0]
	if summary["wait_seconds"].(float64) < 0 || summary["samples"].(float64) != 240 {
		t.Errorf("summary %v", summary)
	}
	exported, err := hf.Open(filepath.Join(whole, "model"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exported.Tokenizer(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"loss.html", "transcripts.jsonl"} {
		if _, err := os.Stat(filepath.Join(whole, name)); err != nil {
			t.Error(err)
		}
	}

	// The same in two parts: the second goes on to the identical losses.
	parts := filepath.Join(t.TempDir(), "parts")
	stop := exitAfter(t, os.Interrupt, 25, append(flags, "--out", parts, "--steps", "60")...)
	if stop.code != exitInterrupted || !strings.Contains(stop.out, "--resume") {
		t.Fatalf("interrupted with exit %d\n%s%s", stop.code, stop.out, stop.stderr)
	}
	rest := losses(t, ok(t, append(flags, "--out", parts, "--steps", "60", "--resume")...))
	if len(rest) == 0 || len(rest) >= 60 {
		t.Fatalf("%d steps after the interruption", len(rest))
	}
	for step, loss := range rest {
		if loss != want[step] {
			t.Errorf("step %d: loss %v, undisturbed %v", step, loss, want[step])
		}
	}
	// What was trained can be trained on.
	again := losses(t, ok(t, "whisper", data, "--model", filepath.Join(whole, "model"), "--out", filepath.Join(t.TempDir(), "again"),
		"--json", "--batch", "4", "--steps", "2", "--warmup", "0", "--schedule", "constant", "--eval-split", "0"))
	if math.Abs(again[1]-want[60]) > want[1]/2 {
		t.Errorf("the exported model begins with loss %v, it ended with %v", again[1], want[60])
	}
}

// TestWhisperOptions trains a little with everything that changes how.
func TestWhisperOptions(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for a while")
	}
	data, from := tones(t, 1, 9000, fewTexts), tinyWhisper(t, nil)
	first := map[string]float64{}
	for name, more := range map[string][]string{
		"plain":         nil,
		"bfloat16":      {"--dtype", "bfloat16"},
		"checkpointing": {"--checkpointing"},
		"accumulate":    {"--accumulate", "2", "--batch", "4"},
		"frozen":        {"--freeze-encoder"},
		"augmented":     {"--spec-augment"},
		"careful":       {"--verify", "--bad-shards", "skip", "--workers", "1"},
	} {
		args := []string{"whisper", data, "--model", from, "--json", "--batch", "8", "--steps", "3", "--warmup", "0", "--eval-split", "0", "--out", filepath.Join(t.TempDir(), "run")}
		first[name] = losses(t, ok(t, append(args, more...)...))[1]
	}
	for name, loss := range first {
		tolerance := 1e-5 // the same sums, in another order
		if name == "bfloat16" || name == "augmented" {
			tolerance = 0.05
		}
		if want := first["plain"]; !(math.Abs(loss-want) <= tolerance*want) {
			t.Errorf("%s: the first loss is %v, plain %v", name, loss, want)
		}
	}
}
