package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/bench"
	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/gpu"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/transforms"
)

// benchFlags are the flags of the measuring commands.
type benchFlags struct {
	makeFlags
	folder           string
	clip, seconds    float64
	shortest, widest float64
	files            int
	cold             bool
}

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "bench", Short: "Measure this machine: mel engines alone, or wavs to a dataset",
		Long: `Measures melforge where it runs, each figure beside what the machine does raw in
the same run. Machines are noisy: trust ratios, not rates.`,
		Example: "  melforge bench mel\n  melforge bench mel --engine cuda --json\n  melforge bench e2e --files 12000 --folder /data",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.benchMelCommand(), a.benchE2ECommand())
	return c
}

func (fl *benchFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&fl.mel, "mel", "whisper-80", "mel configuration: "+strings.Join(mel.Presets(), ", ")+", or a YAML file (docs/mels.md)")
	f.StringVar(&fl.engine, "engine", "auto", "what computes the mels: auto, cuda, cpu")
	f.StringVar(&fl.devices, "devices", "", "GPUs to use, as in 0,1 (default: every healthy one)")
	f.IntVar(&fl.level, "opt-level", 1, "how much is tuned on a GPU: 0 nothing, 1 by what it is, 2 by measuring")
	f.IntVarP(&fl.jobs, "jobs", "j", runtime.NumCPU(), "clips worked on at once by the CPU")
	f.StringVar(&fl.folder, "folder", "", "where to put files while measuring (default: the folder for temporary files)")
}

// choose reads the flags that both commands have.
func (fl *benchFlags) choose(c *cobra.Command) (transforms.Engine, mel.Config, error) {
	e, err := chooseEngine(c.Flags(), &fl.makeFlags)
	if err != nil {
		return e, mel.Config{}, err
	}
	if fl.jobs < 1 {
		return e, mel.Config{}, terminal.Usagef("--jobs %d: want 1 or more", fl.jobs)
	}
	config, err := melConfig(fl.mel)
	if err != nil {
		return e, config, terminal.Misuse(err)
	}
	return e, config, nil
}

func (a *app) benchMelCommand() *cobra.Command {
	fl := new(benchFlags)
	c := &cobra.Command{
		Use: "mel", Short: "Measure a mel engine: from memory, from wavs, and into HDF5", Args: cobra.NoArgs,
		Long: `Measures the engine that computes mels with clips of one length: with samples in
memory, with samples from wav files in the page cache, and from there into synced
HDF5 shards. On a GPU also the bus, the device alone, the time in each stage and
how far they overlap.`,
		Example: "  melforge bench mel\n  melforge bench mel --engine cuda --json\n  melforge bench mel --engine cpu --clip 5 --jobs 1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, config, err := fl.choose(cmd)
			if err != nil {
				return err
			}
			return a.benchMel(cmd.Context(), fl, e, config)
		},
	}
	fl.register(c)
	c.Flags().Float64Var(&fl.clip, "clip", 0, "seconds of a clip (default: the longest that the configuration takes)")
	c.Flags().Float64Var(&fl.seconds, "seconds", 2, "how long to measure each way")
	return c
}

func (a *app) benchMel(ctx context.Context, fl *benchFlags, e transforms.Engine, config mel.Config) (err error) {
	if !(fl.seconds > 0) || fl.clip < 0 {
		return terminal.Usagef("--seconds %g --clip %g: want something to measure", fl.seconds, fl.clip)
	}
	engine, err := openEngine(e, config, fl.jobs, a.ui.Log)
	if err != nil {
		return err
	}
	workers := fl.jobs
	if engine.Name() == "cuda" {
		workers = 8 * runtime.NumCPU() // they wait for the device, not for a core
	}
	r, err := bench.Mel{Engine: engine, Folder: fl.folder, Clip: fl.clip, Seconds: fl.seconds, Workers: workers}.Run(ctx)
	if err = errors.Join(err, engine.Close()); err != nil {
		return err
	}
	a.ui.Message("bench_mel", r, melReportText(r, workers))
	if engine.Name() != "cuda" {
		return nil
	}
	devices, err := parseDevices(e.Devices)
	if err != nil {
		return err
	}
	p := locate()
	device, err := gpu.Bench(ctx, gpu.Options{
		Worker: p.cuda, Devices: devices, Level: e.Level, CacheDir: filepath.Join(p.cache, "gpu"),
	}, config)
	if err != nil {
		return err
	}
	g := benchGPUMessage{Report: device, MemoryOfBus: r.Memory.Bytes / device.Rates.BusBytes, FilesOfBus: r.Files.Bytes / device.Rates.BusBytes}
	g.OfReading = r.Files.Bytes / min(r.Reading.Bytes, device.Rates.BusBytes)
	a.ui.Message("bench_gpu", g, gpuReportText(g))
	return nil
}

// benchGPUMessage is what a device does, and what the engine on all devices makes
// of the first one's bus.
type benchGPUMessage struct {
	gpu.Report
	MemoryOfBus float64 `json:"memory_of_bus"`
	FilesOfBus  float64 `json:"files_of_bus"`
	OfReading   float64 `json:"files_of_reading"` // of the lower of the bus and of reading alone
}

func melReportText(r bench.MelReport, workers int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, clips of %g s, %d at once\n", r.Mel, r.Engine, r.Clip, workers)
	line := func(name string, rate bench.Rate) {
		fmt.Fprintf(&b, "  %-22s %9.0f clips/s  %9.0f times real time   busy: read %.2f, compute %.2f, write %.2f",
			name, rate.Clips, rate.Clips*r.Clip, rate.Read, rate.Compute, rate.Write)
		if d := rate.Device; d != nil {
			fmt.Fprintf(&b, "; device: copy-in %.2f, compute %.2f, copy-out %.2f", d["copy_in"], d["compute"], d["copy_out"])
		}
		b.WriteByte('\n')
	}
	line("from memory", r.Memory)
	line("from wavs", r.Files)
	line("  reading those alone", r.Reading)
	line("from wavs into HDF5", r.Shards)
	fmt.Fprintf(&b, "  raw: read(2) %s/s; write(2) and sync of %d files at once %s/s, of which shards reach %.2f\n",
		size(int64(r.Read.Rate)), r.Writers, size(int64(r.Write.Rate)), r.OfRaw)
	return b.String()
}

func gpuReportText(r benchGPUMessage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n", r.Device, r.Tuning)
	fmt.Fprintf(&b, "  bus, int16 samples     %9.0f clips/s  (%s/s)\n", r.Rates.Bus, size(int64(r.Rates.BusBytes)))
	fmt.Fprintf(&b, "  device alone           %9.0f clips/s\n", r.Rates.DeviceOnly)
	fmt.Fprintf(&b, "  host to host           %9.0f clips/s  %.3f of the bus, %.3f of the same copies without computing; streams overlap %.2f times, copy-in busy %.0f %%\n",
		r.Rates.HostToHost, r.OfBus, r.OfDuplex, r.Overlap, 100*r.Busy)
	fmt.Fprintf(&b, "  of the bus             %.3f from memory, %.3f from wavs, which is %.2f of the lower of the bus and of reading alone\n", r.MemoryOfBus, r.FilesOfBus, r.OfReading)
	t := r.Rates.Timing
	fmt.Fprintf(&b, "  time on its streams    copy-in %v, compute %v, copy-out %v in %.2f s\n", t.In, t.Compute, t.Out, r.Rates.Elapsed)
	fmt.Fprintf(&b, "  first frame after %.2f s; %s on the device, %s pinned\n", r.FirstFrame, size(r.Rates.DeviceUsed), size(r.Rates.HostPinned))
	return b.String()
}

func (a *app) benchE2ECommand() *cobra.Command {
	fl := new(benchFlags)
	c := &cobra.Command{
		Use: "e2e", Short: "Measure wav files to a synced dataset, beside the raw disk", Args: cobra.NoArgs,
		Long: `Makes wav files of noise, runs "melforge mel" over them as a user does, and says
how that compares with reading those bytes and writing as many bytes as the
shards have with nothing in between. The wavs are in the page cache; with --cold
all is measured once more with wavs that were dropped from it. Everything is
removed afterwards.`,
		Example: "  melforge bench e2e\n  melforge bench e2e --files 12000 --shortest 1 --longest 9 --folder /data --cold --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, config, err := fl.choose(cmd)
			if err != nil {
				return err
			}
			return a.benchE2E(cmd.Context(), fl, e, config)
		},
	}
	fl.register(c)
	f := c.Flags()
	f.IntVar(&fl.files, "files", 2000, "how many wavs")
	f.Float64Var(&fl.shortest, "shortest", 1, "seconds of the shortest wav")
	f.Float64Var(&fl.widest, "longest", 9, "seconds of the longest wav")
	f.BoolVar(&fl.cold, "cold", false, "also measure with the wavs on the disk, dropped from the page cache")
	return c
}

func (a *app) benchE2E(ctx context.Context, fl *benchFlags, e transforms.Engine, config mel.Config) error {
	longest := float64(config.MaxSamples()) / float64(config.Rate)
	if fl.files < 1 || !(fl.shortest >= 0.2 && fl.shortest <= fl.widest && fl.widest <= longest) {
		return terminal.Usagef("--files %d --shortest %g --longest %g: want files of 0.2 to %g s", fl.files, fl.shortest, fl.widest, longest)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	a.ui.Status(fmt.Sprintf("measuring with %d wavs", fl.files))
	r, err := bench.EndToEnd{
		Tool: []string{self, "mel", "--mel", fl.mel, "--engine", e.Name, "--devices", e.Devices,
			"--opt-level", fmt.Sprint(e.Level), "--jobs", fmt.Sprint(fl.jobs)},
		Folder: fl.folder, Files: fl.files, Shortest: fl.shortest, Longest: fl.widest, Rate: config.Rate, Workers: runtime.NumCPU(), Cold: fl.cold,
	}.Run(ctx)
	if err != nil {
		return err
	}
	a.ui.Message("bench_e2e", r, e2eReportText(r))
	return nil
}

func e2eReportText(r bench.EndToEndReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d wavs, %.1f h of audio, into %d shards\n", r.Files, r.Audio/3600, r.Shards)
	passage := func(p bench.Passage, where string) {
		fmt.Fprintf(&b, "  melforge mel           %7.2f s  %8.0f files/s, %.1f s of CPU; wavs %s\n", p.Seconds, p.Rate, p.CPU, where)
		var at []string
		for _, name := range slices.SortedFunc(maps.Keys(p.Phases), func(x, y string) int { return cmp.Compare(p.Phases[x], p.Phases[y]) }) {
			at = append(at, fmt.Sprintf("%s %.2f s", strings.ReplaceAll(name, "_", " "), p.Phases[name]))
		}
		fmt.Fprintf(&b, "    %s\n", strings.Join(at, ", "))
		fmt.Fprintf(&b, "  reading those raw      %7.2f s  %s/s\n", p.Read.Seconds, size(int64(p.Read.Rate)))
		fmt.Fprintf(&b, "  writing these raw      %7.2f s  %s/s, synced\n", r.Write.Seconds, size(int64(r.Write.Rate)))
		fmt.Fprintf(&b, "  both raw over the tool %7.2f\n", p.OfRaw)
	}
	passage(r.Passage, "in the page cache")
	if c := r.Cold; c != nil {
		where := "on the disk"
		if c.InCache > 0.01 {
			where += fmt.Sprintf(", but this file system kept %.0f %% of them in memory", 100*c.InCache)
		}
		passage(c.Passage, where)
	}
	return b.String()
}
