package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/gpu"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what this machine has, and what is missing with its remedy", Args: cobra.NoArgs,
		Long: `Lists the speech engines and GPUs that melforge finds here, what it would compute
mels with, and what is missing together with the remedy. Of each GPU it measures
the bus and says what each optimisation level would choose, which takes a few
seconds the first time.`,
		Example: "  melforge doctor\n  melforge doctor --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.doctor(cmd.Context())
			return nil
		},
	}
}

// finding is one thing that the doctor looked at.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func (a *app) doctor(ctx context.Context) {
	for _, f := range append(a.examineVoices(ctx), examineGPUs(ctx)...) {
		mark := "ok     "
		if !f.OK {
			mark = "missing"
		}
		a.ui.Message("finding", f, fmt.Sprintf("%s  %-8s %s\n", mark, f.What, f.Detail))
	}
	a.assess(ctx)
}

// assess measures the GPUs that can be used. Where there is none, the findings
// have said why.
func (a *app) assess(ctx context.Context) {
	p := locate()
	config, err := melConfig("whisper-80")
	if err != nil {
		return
	}
	all, err := gpu.Levels(ctx, gpu.Options{Worker: p.cuda, Level: gpu.MaxLevel, CacheDir: filepath.Join(p.cache, "gpu")}, config)
	var none *gpu.Unavailable
	if errors.As(err, &none) {
		return
	}
	if err != nil {
		a.ui.Message("finding", finding{"cuda", false, err.Error()}, fmt.Sprintf("missing  %-8s %v\n", "cuda", err))
	}
	for _, g := range all {
		a.ui.Message("gpu", g, assessmentText(g))
	}
}

func assessmentText(g gpu.Assessment) string {
	var b strings.Builder
	if g.Problem != "" {
		fmt.Fprintf(&b, "         GPU %d cannot be measured: %s\n", g.Device.Index, g.Problem)
	} else {
		fmt.Fprintf(&b, "         GPU %d: bus %s/s in, %s/s out, %s/s both ways at once (pinned memory); %s of its memory are free\n", g.Device.Index,
			size(int64(g.Bandwidth.In)), size(int64(g.Bandwidth.Out)), size(int64(g.Bandwidth.Both)), size(g.Bandwidth.Free))
	}
	for _, c := range g.Levels {
		if c.Problem != "" {
			fmt.Fprintf(&b, "         --opt-level %d fails (%s); the level below takes its place\n", c.Level, c.Problem)
			continue
		}
		fmt.Fprintf(&b, "         --opt-level %d: batches of %d samples, %d in %s of pinned memory, %d on the device in %s; %s\n",
			c.Level, c.Samples, c.Slots, size(c.Pinned), c.Buffers, size(c.Device), c.Why)
	}
	return b.String()
}

func (a *app) examineVoices(ctx context.Context) []finding {
	set, err := locate().voices(a.ui.Log, runtime.NumCPU(), false)
	if err != nil {
		return []finding{{"voices", false, err.Error()}}
	}
	defer set.Close()
	var out []finding
	for _, name := range []string{"piper", "espeak"} {
		v, err := set.Resolve(ctx, name)
		var print string
		if err == nil {
			print, err = set.Fingerprint(ctx, v)
		}
		if err != nil {
			out = append(out, finding{name, false, err.Error()})
			continue
		}
		out = append(out, finding{name, true, fmt.Sprintf("%s (%s)", v, print)})
	}
	return out
}

func examineGPUs(ctx context.Context) []finding {
	out := []finding{{"cpu", true, fmt.Sprintf("%d cores compute mels where no GPU does", runtime.NumCPU())}}
	devices, err := gpu.Discover(ctx, locate().cuda)
	if err != nil {
		out = append(out, finding{"cuda", false, err.Error()})
	}
	for _, d := range devices {
		detail := fmt.Sprintf("GPU %d: %s, capability %s, %d multiprocessors, %s, CUDA %d.%d", d.Index, d.Name, d.Capability,
			d.Processors, size(d.Memory), d.Driver/1000, d.Driver%1000/10)
		if d.Problem != "" {
			detail += ": " + d.Problem
		}
		out = append(out, finding{"cuda", d.Problem == "", detail})
	}
	for _, name := range otherGPUs() {
		out = append(out, finding{"gpu", false, name + ": mels run on the CPU here for now"})
	}
	return out
}

// otherGPUs names GPUs for which there is no engine yet.
func otherGPUs() []string {
	var out []string
	cards, _ := filepath.Glob("/sys/class/drm/card[0-9]*/device/vendor")
	for _, c := range cards {
		if b, err := os.ReadFile(c); err == nil && strings.TrimSpace(string(b)) == "0x1002" {
			out = append(out, "an AMD GPU ("+filepath.Base(filepath.Dir(filepath.Dir(c)))+")")
		}
	}
	if runtime.GOOS == "darwin" {
		out = append(out, "an Apple GPU")
	}
	return out
}
