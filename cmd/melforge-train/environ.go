package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// again marks a process that was started anew with the libraries' paths.
const again = "MELFORGE_TRAIN_REEXEC"

// setUp gives a plugin the environment that it needs. XLA reads its flags when it
// is loaded, but the loader reads LD_LIBRARY_PATH when a process starts: where
// that changes, this one starts itself again, once.
func setUp(plugin string) error {
	if os.Getenv(again) != "" {
		return nil
	}
	e := environment{plugin: plugin, cache: tuningCache(plugin)}
	env, restart, err := e.of(os.Environ())
	if err != nil {
		return err
	}
	if !restart {
		if flags, ok := lookUp(env, "XLA_FLAGS"); ok {
			return os.Setenv("XLA_FLAGS", flags)
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("start again with CUDA's libraries: %w", syscall.Exec(self, os.Args, append(env, again+"=1")))
}

// tuningCache is where XLA keeps which kernels were the fastest, so that a second
// run need not try them all again, and a resumed one takes the same; "" where
// there is no such folder. XLA tells devices and shapes apart in it, but neither
// its own versions nor its flags, so there is a folder for each.
func tuningCache(plugin string) string {
	base, err := os.UserCacheDir()
	if v := os.Getenv("MELFORGE_CACHE"); v != "" {
		base, err = v, nil
	} else {
		base = filepath.Join(base, "melforge")
	}
	if err != nil {
		return ""
	}
	info, err := os.Stat(plugin)
	if err != nil {
		return ""
	}
	key := fnv.New64a()
	fmt.Fprintln(key, info.Size(), info.ModTime().UnixNano(), os.Getenv("XLA_FLAGS"))
	dir := filepath.Join(base, "xla", fmt.Sprintf("%016x", key.Sum64()))
	if os.MkdirAll(dir, 0o755) != nil {
		return ""
	}
	return dir
}

// environment is what decides the environment of a plugin.
type environment struct {
	plugin string
	cache  string // of what was measured, "" for none
}

// of adds to an environment: the paths of CUDA's libraries where the plugin lies in a
// folder of Python packages that has them, which needs a restart, and XLA's
// flags for a GPU. Flags that are set stay.
func (e environment) of(env []string) (changed []string, restart bool, err error) {
	nvidia := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(e.plugin))), "nvidia")
	libs, err := filepath.Glob(filepath.Join(nvidia, "*", "lib"))
	if err != nil {
		return nil, false, err
	}
	if restart = len(libs) > 0; restart {
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
	}
	if restart || strings.Contains(filepath.Base(e.plugin), "cuda") {
		env = e.flags(env)
	}
	return env, restart, nil
}

// flags adds those that decide how XLA computes on a GPU.
func (e environment) flags(env []string) []string {
	// XLA would record the step as a CUDA graph anew each time: 42 ms instead of
	// 36 for Whisper tiny in batches of 64 on an H200.
	env = addFlag(env, "xla_gpu_enable_command_buffer", "")
	if e.cache != "" {
		env = addFlag(env, "xla_gpu_per_fusion_autotune_cache_dir", e.cache)
	}
	return env
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
	old, _ := lookUp(env, name)
	kept := slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(kept, name+"="+value(old))
}

// lookUp finds a variable in an environment: the last one counts.
func lookUp(env []string, name string) (value string, ok bool) {
	for _, e := range env {
		if v, found := strings.CutPrefix(e, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// join leaves out what is empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}
