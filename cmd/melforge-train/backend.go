package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"github.com/spf13/pflag"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

// Where the plugin may be named besides --plugin, in this order.
var pluginVariables = []string{"MELFORGE_PJRT_PLUGIN", "PJRT_PLUGIN_LIBRARY_PATH"}

const pluginHelp = `install a PJRT plugin, for example the CUDA one of JAX with "pip install jax-cuda13-pjrt jax-cuda13-plugin[with-cuda]", ` +
	`and name its file with --plugin …/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so or in MELFORGE_PJRT_PLUGIN; ` +
	`or train on the CPU with --backend go`

// memoryPart is how much of a card the backend may take.
const memoryPart = 0.9

// backendFlags choose what computes.
type backendFlags struct {
	backend, plugin string
	deterministic   bool
}

func (b *backendFlags) add(f *pflag.FlagSet) {
	f.StringVar(&b.backend, "backend", "go", "what computes: go (this CPU) or xla (a PJRT plugin, for GPUs)")
	f.StringVar(&b.plugin, "plugin", "", "file of the PJRT plugin for --backend xla (default: MELFORGE_PJRT_PLUGIN or PJRT_PLUGIN_LIBRARY_PATH)")
	f.BoolVar(&b.deterministic, "deterministic", false, "with --backend xla: the same bits in every run, so that --resume goes on exactly; slower, and takes more memory")
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
	if err := setUp(plugin); err != nil {
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
