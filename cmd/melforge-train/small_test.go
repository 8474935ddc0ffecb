package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/melforge/melforge/trainer/whisper"
)

func TestAutoBatch(t *testing.T) {
	none := func(context.Context) (float64, float64, bool) { return 0, 0, false }
	for _, limit := range []int{0, 1, 3, 7, 8, 20, 64, 100, 777, 1 << 20} {
		tries, last := 0, 0
		// A card on which a clip takes one of its limit parts.
		card := func(context.Context) (float64, float64, bool) {
			return float64(last), float64(limit) / memoryPart, true
		}
		for name, memory := range map[string]func(context.Context) (float64, float64, bool){"measured": card, "blind": none} {
			tries = 0
			n, err := autoBatch(t.Context(), memory, func(clips int) error {
				tries, last = tries+1, clips
				if clips > limit {
					return errors.New("RESOURCE_EXHAUSTED: Out of memory")
				}
				return nil
			})
			if limit == 0 {
				if err == nil {
					t.Errorf("%s: %d clips fit into nothing", name, n)
				}
				continue
			}
			best := min(limit, maxAutoBatch)
			if err != nil || n > limit || n < best*7/8-8 || tries > 16 {
				t.Errorf("%s: room for %d: found %d in %d tries, error %v", name, limit, n, tries, err)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := autoBatch(t.Context(), none, func(int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestLabelWidths(t *testing.T) {
	for _, c := range []struct{ max, n, want int }{
		{448, 1, 64}, {448, 64, 64}, {448, 65, 128}, {448, 300, 448}, {448, 448, 448}, {24, 5, 24}, {100, 70, 100}, {100, 3, 64},
	} {
		l := &labels{config: whisper.Config{MaxTarget: c.max}}
		if got := l.width(c.n); got != c.want {
			t.Errorf("room for %d of %d labels: %d, want %d", c.n, c.max, got, c.want)
		}
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, command := range []string{"ctc", "whisper", "compare"} {
		text := ok(t, command, "--help")
		for _, want := range []string{"Examples:", "melforge-train " + command, "--backend", "Exit codes:"} {
			if !strings.Contains(text, want) {
				t.Errorf("the help of %s lacks %q", command, want)
			}
		}
	}
	if !strings.Contains(ok(t, "version"), "GoMLX") {
		t.Error("version does not name GoMLX")
	}
}

func TestPluginEnviron(t *testing.T) {
	packages := t.TempDir()
	plugin := filepath.Join(packages, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
	if env, err := pluginEnviron(plugin, "/cache", []string{"A=b"}); env != nil || err != nil {
		t.Errorf("nothing lies beside the plugin, and the environment is %q, error %v", env, err)
	}
	for _, dir := range []string{"nvidia/cu13/lib", "nvidia/cudnn/lib", "jax_plugins/xla_cuda13"} {
		if err := os.MkdirAll(filepath.Join(packages, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	nvidia := filepath.Join(packages, "nvidia")
	got, err := pluginEnviron(plugin, "/cache", []string{"A=b", "LD_LIBRARY_PATH=/mine", "PATH=/bin"})
	want := []string{
		"A=b", "LD_LIBRARY_PATH=" + nvidia + "/cu13/lib:" + nvidia + "/cudnn/lib:/mine", "GOPJRT_CUDA_CHECKS=0",
		"PATH=" + nvidia + "/cu13/bin:/bin",
		"XLA_FLAGS=--xla_gpu_cuda_data_dir=" + nvidia + "/cu13 --xla_gpu_enable_command_buffer= --xla_gpu_per_fusion_autotune_cache_dir=/cache",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q, error %v", got, want, err)
	}
	if hasXLA { // it starts itself again, and then says that this is no plugin
		write(t, plugin, []byte("no library"))
		refuse(t, []string{"ctc", tones(t, 1, 9000, fewTexts), "--out", t.TempDir(), "--backend", "xla", "--plugin", plugin}, "does not start")
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, x := range []struct{ flag, value, says string }{
		{"--size", "huge", "huge"},
		{"--stage", "half", "encoder, forward, backward or update"},
		{"--dtype", "float8", "float32 or bfloat16"},
		{"--labels", "449", "448"},
		{"--batch", "0", "1 or more"},
	} {
		refuse(t, []string{"bench", x.flag, x.value}, x.says)
	}
}
