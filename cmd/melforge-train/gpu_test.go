package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Where the test of a GPU finds its plugin, and a dataset of at least 64 clips
// if it is not to make one.
const (
	pluginVariable  = "MELFORGE_TEST_PLUGIN"
	datasetVariable = "MELFORGE_TEST_DATASET"
)

// TestGPU trains a Whisper of tiny's size in bfloat16 on a GPU at batches of 64
// and prints how fast it was and how long it waited, and what making the data on
// the fly would cost.
func TestGPU(t *testing.T) {
	plugin := os.Getenv(pluginVariable)
	if plugin == "" {
		t.Skipf("%s does not name a PJRT plugin", pluginVariable)
	}
	data := os.Getenv(datasetVariable)
	if data == "" {
		data = spoken(t, 256, "espeak/en-us")
	}
	model := tinyWhisper(t, map[string]any{
		"d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 6, "decoder_attention_heads": 6,
		"encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536, "vocab_size": 51865, "max_source_positions": 1500, "max_target_positions": 448,
	})
	device := []string{"--json", "--backend", "xla", "--plugin", plugin, "--dtype", "bfloat16", "--model", model, "--batch", "64"}
	out := ok(t, append([]string{
		"whisper", data, "--out", filepath.Join(t.TempDir(), "run"), "--steps", "100", "--eval-split", "0", "--eval-clips", "64",
	}, device...)...)
	m := messages(t, out)["summary"][0]
	t.Logf("whisper-tiny, batch 64: %.0f samples/s, %.2f it/s, waited %.3f %%, compiled %.1f s, loss %v to %v",
		m["samples_per_second"], m["steps_per_second"], 100*m["wait_share"].(float64), m["compile_seconds"], m["first_loss"], m["last_loss"])
	if !(m["last_loss"].(float64) < m["first_loss"].(float64)) {
		t.Error("it did not learn")
	}
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Log("no comparison: espeak-ng is not installed")
		return
	}
	c := messages(t, ok(t, append([]string{"compare", data, "--steps", "10", "--lr", "1e-5"}, device...)...))["comparison"][0]
	t.Logf("on the fly: %v", c["on_the_fly"])
	t.Logf("from the dataset: %v", c["from_the_dataset"])
	t.Logf("%.1f times as fast; %v of %v mels the same, losses %v apart", c["speedup"], c["same_mels"], c["mels"], c["losses_apart"])
}
