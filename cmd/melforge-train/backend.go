package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"github.com/spf13/pflag"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

// Where the plugin may be named besides --plugin, in this order.
var pluginVariables = []string{"MELFORGE_PJRT_PLUGIN", "PJRT_PLUGIN_LIBRARY_PATH"}

// again marks a process that was started anew with the libraries' paths.
const again = "MELFORGE_TRAIN_REEXEC"

const pluginHelp = `install a PJRT plugin, for example the CUDA one of JAX with "pip install jax-cuda13-pjrt jax-cuda13-plugin[with-cuda]", ` +
	`and name its file with --plugin …/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so or in MELFORGE_PJRT_PLUGIN; ` +
	`or train on the CPU with --backend go`

// memoryPart is how much of a card the backend may take.
const memoryPart = 0.9

// backendFlags choose what computes.
type backendFlags struct{ backend, plugin string }

func (b *backendFlags) add(f *pflag.FlagSet) {
	f.StringVar(&b.backend, "backend", "go", "what computes: go (this CPU) or xla (a PJRT plugin, for GPUs)")
	f.StringVar(&b.plugin, "plugin", "", "file of the PJRT plugin for --backend xla (default: MELFORGE_PJRT_PLUGIN or PJRT_PLUGIN_LIBRARY_PATH)")
}

// open starts the backend, or says what is missing.
func (b *backendFlags) open() (compute.Backend, error) {
	switch b.backend {
	case "go":
		// One operation after the other: they are parallel inside, and losses are
		// the same in every run.
		return compute.NewWithConfig("go:ops_sequential")
	case "xla":
	default:
		return nil, terminal.Usagef("--backend %s: want go or xla", b.backend)
	}
	if !hasXLA {
		return nil, terminal.Usagef("--backend xla: this melforge-train was built without cgo and has no XLA: build it with CGO_ENABLED=1, or use --backend go")
	}
	plugin, err := b.find()
	if err != nil {
		return nil, err
	}
	if err := besidePlugin(plugin); err != nil {
		return nil, err
	}
	backend, err := compute.NewWithConfig(fmt.Sprintf("xla:%s,preallocate=false,memory_fraction=%g", plugin, memoryPart))
	if err != nil {
		return nil, terminal.Usagef("the PJRT plugin %s does not start: %w: %s", plugin, err, pluginHelp)
	}
	return backend, nil
}

// find is the plugin's absolute path.
func (b *backendFlags) find() (string, error) {
	from, path := "--plugin", b.plugin
	for _, name := range pluginVariables {
		if path == "" {
			from, path = name, os.Getenv(name)
		}
	}
	if path == "" {
		return "", terminal.Usagef("--backend xla: no PJRT plugin is named: %s", pluginHelp)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", terminal.Misuse(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", terminal.Usagef("%s: %w: %s", from, err, pluginHelp)
	}
	if !info.IsDir() {
		return path, nil
	}
	var found []string
	for _, pattern := range []string{"*pjrt*plugin*.so", "xla_cuda_plugin.so"} {
		names, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return "", terminal.Misuse(err)
		}
		found = append(found, names...)
	}
	if len(found) != 1 {
		return "", terminal.Usagef("%s: the folder %s has %d plugins: name the file itself", from, path, len(found))
	}
	return found[0], nil
}

// besidePlugin makes CUDA's libraries known where the plugin lies in a folder of
// Python packages that has them: the loader reads LD_LIBRARY_PATH when a process
// starts, so this one starts itself again, once.
func besidePlugin(plugin string) error {
	if os.Getenv(again) != "" {
		return nil
	}
	env, err := pluginEnviron(plugin, tuningCache(), os.Environ())
	if err != nil || env == nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("start again with CUDA's libraries: %w", syscall.Exec(self, os.Args, append(env, again+"=1")))
}

// tuningCache is where XLA keeps which kernels were the fastest, so that a second
// run need not try them all again; "" where there is no such folder.
func tuningCache() string {
	base, err := os.UserCacheDir()
	if v := os.Getenv("MELFORGE_CACHE"); v != "" {
		base, err = v, nil
	} else {
		base = filepath.Join(base, "melforge")
	}
	dir := filepath.Join(base, "xla")
	if err != nil || os.MkdirAll(dir, 0o755) != nil {
		return ""
	}
	return dir
}

// pluginEnviron is the environment that a plugin in a folder of Python packages
// needs, nil if there is nothing beside it. XLA's flags that are set stay.
func pluginEnviron(plugin, cache string, env []string) ([]string, error) {
	nvidia := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(plugin))), "nvidia")
	libs, err := filepath.Glob(filepath.Join(nvidia, "*", "lib"))
	if err != nil || len(libs) == 0 {
		return nil, err
	}
	env = change(env, "LD_LIBRARY_PATH", func(old string) string { return join(":", append(libs, old)...) })
	env = change(env, "GOPJRT_CUDA_CHECKS", func(string) string { return "0" }) // it looks for a system-wide CUDA
	for _, d := range []string{"cu13", "cuda_nvcc"} {
		dir := filepath.Join(nvidia, d)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		env = addFlag(env, "xla_gpu_cuda_data_dir", dir)
		env = change(env, "PATH", func(old string) string { return join(":", filepath.Join(dir, "bin"), old) })
		break
	}
	// XLA would record the step as a CUDA graph anew each time: 42 ms instead of
	// 36 for Whisper tiny in batches of 64 on an H200.
	env = addFlag(env, "xla_gpu_enable_command_buffer", "")
	if cache != "" {
		env = addFlag(env, "xla_gpu_per_fusion_autotune_cache_dir", cache)
	}
	return env, nil
}

// addFlag gives XLA a flag, unless it has it.
func addFlag(env []string, name, value string) []string {
	return change(env, "XLA_FLAGS", func(old string) string {
		if strings.Contains(old, name) {
			return old
		}
		return join(" ", old, "--"+name+"="+value)
	})
}

// change sets a variable to what it should be, given what it is.
func change(env []string, name string, value func(old string) string) []string {
	old := ""
	kept := slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		v, ok := strings.CutPrefix(e, name+"=")
		if ok {
			old = v
		}
		return ok
	})
	return append(kept, name+"="+value(old))
}

// join leaves out what is empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}
