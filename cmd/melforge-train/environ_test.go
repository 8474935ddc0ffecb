package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestEnvironment(t *testing.T) {
	packages := t.TempDir()
	nvidia := filepath.Join(packages, "nvidia")
	for _, dir := range []string{"nvidia/cu13/lib", "nvidia/cudnn/lib", "jax_plugins/xla_cuda13"} {
		if err := os.MkdirAll(filepath.Join(packages, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plugin := filepath.Join(packages, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
	beside := []string{
		"LD_LIBRARY_PATH=" + nvidia + "/cu13/lib:" + nvidia + "/cudnn/lib:/mine", "GOPJRT_CUDA_CHECKS=0",
		"PATH=" + nvidia + "/cu13/bin:/bin",
	}
	const graphs = "--xla_gpu_enable_command_buffer="
	data, cache := "--xla_gpu_cuda_data_dir="+nvidia+"/cu13", "--xla_gpu_per_fusion_autotune_cache_dir=/cache"
	for _, c := range []struct {
		name    string
		e       environment
		xla     string // XLA_FLAGS before
		want    []string
		restart bool
	}{
		{"no cache", environment{plugin: plugin}, "",
			append(slices.Clone(beside), "XLA_FLAGS="+data+" "+graphs), true},
		{"with a cache", environment{plugin: plugin, cache: "/cache"}, "",
			append(slices.Clone(beside), "XLA_FLAGS="+data+" "+graphs+" "+cache), true},
		{"flags that are set stay", environment{plugin: plugin, cache: "/cache"}, cache + "2",
			append(slices.Clone(beside), "XLA_FLAGS="+cache+"2 "+data+" "+graphs), true},
		{"CUDA of the system", environment{plugin: "/opt/plugins/pjrt_c_api_cuda_plugin.so"}, "",
			[]string{"LD_LIBRARY_PATH=/mine", "PATH=/bin", "XLA_FLAGS=" + graphs}, false},
		{"no GPU", environment{plugin: "/opt/plugins/pjrt_c_api_cpu_plugin.so"}, "",
			[]string{"LD_LIBRARY_PATH=/mine", "PATH=/bin"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := []string{"A=b", "LD_LIBRARY_PATH=/mine", "PATH=/bin"}
			if c.xla != "" {
				env = append(env, "XLA_FLAGS="+c.xla)
			}
			got, restart, err := c.e.of(env)
			if want := append([]string{"A=b"}, c.want...); err != nil || restart != c.restart || !slices.Equal(got, want) {
				t.Errorf("environment %q, restart %v, error %v; want %q, %v", got, restart, err, want, c.restart)
			}
		})
	}
	if hasXLA { // it starts itself again, and then says that this is no plugin
		write(t, plugin, []byte("no library"))
		refuse(t, []string{"ctc", tones(t, 1, 9000, fewTexts), "--out", t.TempDir(), "--backend", "xla", "--plugin", plugin}, "does not start")
	}
}

// TestTuningCache wants what was measured to be found again by the same plugin
// with the same flags, and by no other.
func TestTuningCache(t *testing.T) {
	t.Setenv("MELFORGE_CACHE", t.TempDir())
	t.Setenv("XLA_FLAGS", "")
	plugin := filepath.Join(t.TempDir(), "xla_cuda_plugin.so")
	write(t, plugin, []byte("one"))
	made := time.Now().Add(-time.Hour)
	seen := map[string]string{}
	for _, c := range []struct {
		name   string
		change func()
		same   string // as which before
	}{
		{"first", func() {}, ""},
		{"again", func() {}, "first"},
		{"other flags", func() { t.Setenv("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false") }, ""},
		{"flags again", func() { t.Setenv("XLA_FLAGS", "") }, "first"},
		{"other version", func() { write(t, plugin, []byte("two!")) }, ""},
		{"other build", func() {
			if err := os.Chtimes(plugin, made, made); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		c.change()
		dir := tuningCache(plugin)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Fatalf("%s: %q is no folder: %v", c.name, dir, err)
		}
		for name, other := range seen {
			if same := dir == other; same != (seen[c.same] == other) {
				t.Errorf("%s: the folder of %s is shared: %v", c.name, name, same)
			}
		}
		seen[c.name] = dir
	}
	if dir := tuningCache(filepath.Join(t.TempDir(), "none.so")); dir != "" {
		t.Errorf("a plugin that is not there has the cache %s", dir)
	}
}
