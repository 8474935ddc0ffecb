package hf

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/melforge/melforge/trainer/safetensors"
	"github.com/melforge/melforge/trainer/whisper"
)

var live = flag.String("live", "", "a folder made by scripts/parity-train: compare with what transformers computed there")

// TestLive is the Go half of scripts/parity-train.
func TestLive(t *testing.T) {
	if *live == "" {
		t.Skip("no folder of transformers' results: run scripts/parity-train")
	}
	backend := goBackend(t)
	g := openGolden(t, filepath.Join(*live, "model"), filepath.Join(*live, "golden.safetensors"))
	g.checkGradients(backend, &whisper.Model{Config: g.folder.Config}, parity)
	g.checkGreedy(backend, "en")
	g.folder.checkTokens(t, readSpoken(t, filepath.Join(*live, "tokens.json")))
	if err := g.folder.Save(filepath.Join(*live, "saved"), g.store(), F32); err != nil {
		t.Fatal(err)
	}
	trained := g.checkTraining(backend)
	for suffix, dtype := range map[string]safetensors.DType{"": F32, "-bf16": BF16, "-f16": F16} {
		if err := g.folder.Save(filepath.Join(*live, "trained"+suffix), trained, dtype); err != nil {
			t.Fatal(err)
		}
	}
	full := filepath.Join(*live, "full")
	if _, err := os.Stat(full); err == nil {
		g := openGolden(t, filepath.Join(full, "model"), filepath.Join(full, "golden.safetensors"))
		g.checkGradients(backend, &whisper.Model{Config: g.folder.Config}, parity)
	}
}
