package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/gpu"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/transforms"
)

// chooseEngine reads the flags that say what computes the mels. The
// environment stands in for flags that are not given.
func chooseEngine(f *pflag.FlagSet, fl *makeFlags) (transforms.Engine, error) {
	e := transforms.Engine{Name: fl.engine, Devices: fl.devices, Level: fl.level}
	if v := os.Getenv("GPU_BACKEND"); v != "" && !f.Changed("engine") {
		e.Name = strings.ToLower(v)
	}
	if v := os.Getenv("MELFORGE_OPT_LEVEL"); v != "" && !f.Changed("opt-level") {
		n, err := strconv.Atoi(v)
		if err != nil {
			return e, terminal.Usagef("MELFORGE_OPT_LEVEL=%s: want 0, 1 or 2", v)
		}
		e.Level = n
	}
	if e.Name != "auto" && e.Name != "cpu" && e.Name != "cuda" {
		return e, terminal.Usagef("--engine %s: want auto, cuda or cpu", e.Name)
	}
	if e.Level < 0 || e.Level > gpu.MaxLevel {
		return e, terminal.Usagef("--opt-level %d: want 0, 1 or 2", e.Level)
	}
	_, err := parseDevices(e.Devices)
	return e, err
}

// parseDevices reads "0,1"; "" means all.
func parseDevices(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, terminal.Usagef("--devices %s: want numbers as in 0,1", s)
		}
		out = append(out, n)
	}
	return out, nil
}

// openEngine opens what was chosen: every healthy GPU where there is one, else
// the CPU, and says which and why.
func openEngine(e transforms.Engine, c mel.Config, jobs int, l zerolog.Logger) (mel.Engine, error) {
	cpu, err := mel.NewCPU(c, jobs)
	if err != nil || e.Name == "cpu" {
		return cpu, err
	}
	devices, err := parseDevices(e.Devices)
	if err != nil {
		return nil, err
	}
	p := locate()
	g, err := gpu.Open(context.Background(), gpu.Options{
		Worker: p.cuda, Devices: devices, Level: e.Level, CacheDir: filepath.Join(p.cache, "gpu"), Fallback: cpu,
		Log: func(line string) { l.Warn().Str("from", "gpu").Msg(line) },
	}, c)
	if err == nil {
		l.Info().Str("engine", "cuda").Msg(g.Describe())
		return g, nil
	}
	if e.Name == "cuda" {
		return nil, errors.Join(err, cpu.Close())
	}
	l.Info().Str("engine", "cpu").Str("why", err.Error()).Msg("mels are computed on the CPU")
	return cpu, nil
}
