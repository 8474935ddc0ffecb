package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// Where the test of a GPU finds its plugin, and a dataset of at least 64 clips
// if it is not to make one.
const (
	pluginVariable  = "MELFORGE_TEST_PLUGIN"
	datasetVariable = "MELFORGE_TEST_DATASET"
)

// TestGPU trains a Whisper of tiny's size in bfloat16 on a GPU at batches of 64
// and prints how fast it was and how long it waited, whether it goes on as if
// nothing had happened, and what making the data on the fly would cost.
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
	t.Setenv("MELFORGE_CACHE", t.TempDir()) // so that the first run has nothing to go by
	device := []string{"--json", "--backend", "xla", "--plugin", plugin, "--dtype", "bfloat16"}
	train := func(t *testing.T, args ...string) string {
		t.Helper()
		return ok(t, append(append([]string{"whisper", data, "--model", model, "--eval-split", "0", "--eval-clips", "64"}, device...), args...)...)
	}
	t.Run("train", func(t *testing.T) {
		for _, run := range []string{"first", "again"} {
			all := messages(t, train(t, "--out", t.TempDir(), "--batch", "64", "--steps", "300"))
			m := all["summary"][0]
			logWaits(t, all["step"])
			t.Logf("%s, batch 64, up to %v labels: %s, waited %.3f %%, loss %v to %v, WER %v", run,
				all["start"][0]["labels"], speed(m), 100*m["wait_share"].(float64), m["first_loss"], m["last_loss"], m["wer"])
			if !(m["last_loss"].(float64) < m["first_loss"].(float64)) {
				t.Error("it did not learn")
			}
		}
	})
	t.Run("bench", func(t *testing.T) {
		for _, work := range [][]string{{"--batch", "64", "--labels", "64"}, {"--batch", "64", "--labels", "96"}, {"--batch", "16", "--labels", "64"}} {
			for _, more := range [][]string{nil, {"--resident"}, {"--deterministic"}} {
				args := append(append([]string{"bench"}, device...), append(work, more...)...)
				m := messages(t, ok(t, args...))["bench"][0]
				t.Logf("%v %v: %.2f ms, %.0f samples/s, first step %.1f s", work, more, 1000*m["step_seconds"].(float64), m["samples_per_second"], m["compile_seconds"])
			}
		}
	})
	t.Run("same bits", func(t *testing.T) {
		for _, c := range orders {
			t.Run(c.name, func(t *testing.T) { c.test(t, train) })
		}
	})
	t.Run("auto", func(t *testing.T) {
		m := messages(t, train(t, "--out", t.TempDir(), "--batch", "auto", "--steps", "5"))
		used, total, _ := cardMemory(t.Context())
		for _, x := range m["batch_try"] {
			t.Logf("%v clips: %.2f GiB, fits %v, ran %v, %.1f s", x["clips"], bytesOf(x)/gibi, x["fits"], x["ran"], x["seconds"])
		}
		t.Logf("--batch auto chose %v clips of %.2f GiB in a room of %.2f; trained on %v at a time: %s; the card has %.2f of %.2f GiB in use again",
			m["batch"][0]["batch"], bytesOf(m["batch"][0])/gibi, m["batch"][0]["room_bytes"].(float64)/gibi, m["start"][0]["batch"], speed(m["summary"][0]), used/gibi, total/gibi)
	})
	t.Run("compare", func(t *testing.T) {
		if _, err := exec.LookPath("espeak-ng"); err != nil {
			t.Skip("espeak-ng is not installed")
		}
		c := messages(t, ok(t, append([]string{"compare", data, "--model", model, "--steps", "10", "--lr", "1e-5", "--batch", "64"}, device...)...))["comparison"][0]
		t.Logf("on the fly: %v", c["on_the_fly"])
		t.Logf("from the dataset: %v", c["from_the_dataset"])
		t.Logf("%.1f times as fast; %v of %v mels the same, losses %v apart", c["speedup"], c["same_mels"], c["mels"], c["losses_apart"])
	})
}

// logWaits says which steps waited for data.
func logWaits(t *testing.T, steps []map[string]any) {
	t.Helper()
	var all []string
	rest := 0.0
	for i, s := range steps {
		wait := 1000 * s["wait_seconds"].(float64)
		if i > 0 {
			rest += wait
		}
		if wait > 1 {
			all = append(all, fmt.Sprintf("%v: %.1f", s["step"], wait))
		}
	}
	t.Logf("steps that waited longer than 1 ms: %v; all but the first: %.2f ms", all, rest)
}

// speed says how fast a run was, and where the time of a step went.
func speed(m map[string]any) string {
	ms := func(name string) float64 { return 1000 * m[name].(float64) / m["steps"].(float64) }
	return fmt.Sprintf("%.0f samples/s, %.2f it/s, a step %.2f ms (median %.2f): device %.2f, waiting %.2f, the rest %.2f, hand-over beside it %.2f; compiled %.1f s",
		m["samples_per_second"], m["steps_per_second"], ms("wait_seconds")+ms("work_seconds"), 1000*m["median_step_seconds"].(float64),
		ms("device_seconds"), ms("wait_seconds"), ms("work_seconds")-ms("device_seconds"), ms("hand_over_seconds"), m["compile_seconds"])
}

// bytesOf is what a message says of memory, 0 if nothing.
func bytesOf(m map[string]any) float64 {
	bytes, _ := m["bytes"].(float64)
	return bytes
}

// orders are the ways to add up on a GPU.
var orders = []order{
	{name: "any order"},
	{name: "deterministic", args: []string{"--deterministic"}, same: true},
}

type order struct {
	name string
	args []string // of the tool
	same bool     // whether losses must be the same in every run
}

// test trains once without a break and once with one, and compares: up to the
// break two identical runs, and then a resumed one.
func (c order) test(t *testing.T, train func(t *testing.T, args ...string) string) {
	t.Setenv("MELFORGE_CACHE", t.TempDir())
	const steps, pause = 40, 20
	flags := append([]string{"--batch", "64", "--schedule", "constant", "--warmup", "2"}, c.args...)
	run := func(dir string, steps int, more ...string) string {
		return train(t, append(append(flags, "--out", dir, "--steps", strconv.Itoa(steps)), more...)...)
	}
	whole, dir := run(t.TempDir(), steps), t.TempDir()
	want, before, after := losses(t, whole), losses(t, run(dir, pause)), losses(t, run(dir, steps, "--resume"))
	t.Logf("%s", speed(messages(t, whole)["summary"][0]))
	for name, got := range map[string]map[int]float64{"the same again": before, "resumed": after} {
		apart, first := 0.0, 0
		for step := 1; step <= steps; step++ {
			loss, made := got[step]
			if d := math.Abs(loss - want[step]); made && d > 0 {
				apart = max(apart, d)
				if first == 0 {
					first = step
				}
			}
		}
		t.Logf("%s: %d steps, losses at most %g apart, from step %d on", name, len(got), apart, first)
		if len(got) != steps-pause && len(got) != pause || c.same && apart > 0 {
			t.Errorf("%s: losses %v, want %v", name, got, want)
		}
	}
}
