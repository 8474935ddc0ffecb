package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/plan"
	"github.com/melforge/melforge/transforms"
	"github.com/melforge/melforge/tts"
)

// kind is one of the commands that make a dataset, or a part of one.
type kind struct {
	use, short, long, example string
	speech, mels, dryRun      bool
	source                    string
}

var (
	runKind = kind{
		use: "run CORPUS", short: "Speak a corpus, compute its mels and write the dataset",
		long: `Plans, speaks, computes and indexes: CORPUS becomes a dataset in the folder
--out. Run again with a longer corpus it makes only what is new; interrupted,
the same command goes on.`,
		example: `  melforge run corpus.txt --out dataset
  melforge run lines.csv.gz --out dataset --voice espeak/en-gb --mel whisper-128
  melforge run corpus.jsonl --out /shared/dataset --runner flink --endpoint host:8099`,
		speech: true, mels: true, source: "corpus",
	}
	synthKind = kind{
		use: "synth CORPUS", short: "Only speak a corpus: wavs and manifest, no mels",
		long: `Speaks CORPUS into the folder --out and writes its manifest. "melforge mel
DIR" computes the mels later.`,
		example: `  melforge synth corpus.txt --out dataset && melforge mel dataset`,
		speech:  true, source: "corpus",
	}
	melKind = kind{
		use: "mel SOURCE", short: "Only compute mels: of a dataset's wavs, or of wavs you have",
		long: `Computes the mels of SOURCE: a dataset that synth made (its mels are added to
it), a NeMo manifest, a folder of wavs (with a .txt beside each, if there is
one), or an LJSpeech metadata.csv. Wavs are read where they are, mixed to mono
and resampled where needed.`,
		example: `  melforge mel dataset
  melforge mel LJSpeech-1.1/metadata.csv --out dataset
  melforge mel recordings/ --out dataset --mel whisper-128`,
		mels: true, source: "source",
	}
	planKind = kind{
		use: "plan CORPUS", short: "Say what run would do, and do nothing",
		long: `Reads CORPUS and the dataset in --out, if there is one, and says how many clips
are new, reused and rejected, and about how long, how large and how many hours
of audio the run will be. The same as run --dry-run.`,
		example: `  melforge plan corpus.txt --out dataset`,
		speech:  true, mels: true, dryRun: true, source: "corpus",
	}
)

// makeFlags are the flags of the commands above.
type makeFlags struct {
	out, format, lang, mel, engine, maxRejects string
	voice, voices, speed, pitch                string
	jobs, shardSize, maxChars, variants        int
	seed                                       int64
	gates                                      gates.Config
	augment, voicesFile, lexicon, devices      string
	level                                      int
	checkASR, anyScript                        bool
	maxWER                                     float64
	versions                                   int
	retry, repair, dryRun                      bool
	long, layout                               string
	cache, trace                               string
}

func (a *app) makeCommand(k kind) *cobra.Command {
	fl := &makeFlags{}
	cmd := &cobra.Command{
		Use: k.use, Short: k.short, Example: k.example, Args: terminal.OneArg(k.source),
		Long: k.long + "\n\nBeam's own flags (--runner, --endpoint, --environment_type, …) are listed by\n\"melforge help beam-flags\".\n\n" + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.make(cmd, k, fl, args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&fl.out, "out", "o", "", "the dataset's folder")
	f.StringVar(&fl.format, "format", "auto", "format of the corpus: auto, "+strings.Join(corpus.Formats(), ", "))
	if k.speech {
		f.StringVar(&fl.voice, "voice", "piper/jenny", "the voice for lines that name none (melforge voices lists them)")
		f.StringVar(&fl.voices, "voices", "", "several voices to draw from instead, with weights if you like: a,b=2,c")
		f.IntVar(&fl.variants, "variants", 1, "utterances made of each line, each drawn anew from voices, speed and pitch")
		f.StringVar(&fl.speed, "speed", "1", "speed for lines that do not say: a factor, or a range to draw from as in 0.9:1.1")
		f.StringVar(&fl.pitch, "pitch", "0", "pitch for lines that do not say: semitones, or a range as in -2:2")
		f.StringVar(&fl.voicesFile, "voices-file", "", "YAML file with voices of your own: commands and HTTP services (docs/voices.md)")
		f.StringVar(&fl.lexicon, "lexicon", "", "file of pronunciations: a word, a tab and what to say instead, a line each")
		f.BoolVar(&fl.anyScript, "any-script", false, "speak texts that are not in the script of the voice's language")
		f.BoolVar(&fl.checkASR, "check-asr", false, "have a recogniser check what was spoken (English; melforge voices add moonshine)")
		f.Float64Var(&fl.maxWER, "max-wer", 0.5, "with --check-asr: reject clips with a larger word error rate")
		f.IntVar(&fl.maxChars, "max-chars", tts.MaxChars, "reject texts of more characters")
	}
	f.StringVar(&fl.lang, "lang", "", "the language for lines that name none, as in en")
	f.StringVar(&fl.mel, "mel", "whisper-80", "mel configuration: "+strings.Join(mel.Presets(), ", ")+", or a YAML file (docs/mels.md)")
	f.StringVar(&fl.layout, "layout", "packed", "how mels are stored: packed, the frames that hold sound; padded, whole arrays of equal size")
	f.StringVar(&fl.engine, "engine", "auto", "what computes the mels: auto, cuda, cpu")
	f.StringVar(&fl.devices, "devices", "", "GPUs to use, as in 0,1 (default: every healthy one)")
	f.IntVar(&fl.level, "opt-level", 1, "how much is tuned on a GPU: 0 nothing, 1 by what it is, 2 by measuring")
	f.IntVarP(&fl.jobs, "jobs", "j", runtime.NumCPU(), "clips worked on at once")
	f.IntVar(&fl.shardSize, "shard-size", 512, "clips in a shard")
	f.Int64Var(&fl.seed, "seed", 0, "seed of every random draw; it is stored in the dataset")
	addGateFlags(f, k, &fl.gates)
	if k.speech {
		f.StringVar(&fl.augment, "augment", "", "also make noisy, reverberant, … versions of each clip: a YAML recipe (docs/augment.md)")
		f.IntVar(&fl.versions, "augment-versions", 1, "how many of them")
	}
	f.StringVar(&fl.long, "long", "reject", "clips that are too long: reject them, or split texts by sentences and wavs without a text by pauses")
	f.StringVar(&fl.maxRejects, "max-rejects", "10%", "exit with 3 if more lines are rejected: a number, or a part of all lines with %")
	f.BoolVar(&fl.retry, "retry-rejects", false, "try again what an earlier run could not speak")
	f.BoolVar(&fl.repair, "repair", false, "first check every file of the dataset, and make again what is missing or damaged")
	f.StringVar(&fl.cache, "cache", "", "folder for unpacked voices (default: the user's cache folder)")
	if !k.dryRun {
		f.StringVar(&fl.trace, "trace", "", "write what this process does, and when, to this file, for Perfetto or Chrome to draw")
		f.BoolVarP(&fl.dryRun, "dry-run", "n", false, "say what would be done and do nothing")
	} else {
		fl.dryRun = true
	}
	addBeamFlags(f)
	return cmd
}

// job is a checked command line.
type job struct {
	*makeFlags
	kind    kind
	cmd     *cobra.Command
	source  string
	remel   bool // the source is the dataset itself
	folder  datasets.Folder
	limit   rejectLimit
	options plan.Options
	chosen  transforms.Engine
	places  places
}

// make is run, synth, mel and plan.
func (a *app) make(cmd *cobra.Command, k kind, fl *makeFlags, source string) error {
	j, err := a.check(cmd, k, fl, source)
	if err != nil {
		return err
	}
	voices, err := j.openVoices(a.ui.Log)
	if err != nil {
		return err
	}
	defer voices.Close()
	j.options.Voices = voices
	if err := a.checkVariety(cmd.Context(), j); err != nil {
		return err
	}
	a.showConfig(j)
	if fl.dryRun {
		return a.dryRun(cmd.Context(), j)
	}
	return a.carryOut(cmd.Context(), j)
}

// check turns flags into a job and refuses what cannot work, before anything
// is touched.
func (a *app) check(cmd *cobra.Command, k kind, fl *makeFlags, source string) (*job, error) {
	j := &job{makeFlags: fl, kind: k, cmd: cmd, source: source}
	if err := j.checkFolder(); err != nil {
		return nil, err
	}
	config, err := melConfig(fl.mel)
	if err != nil {
		return nil, terminal.Usagef("--mel: %w", err)
	}
	if j.chosen, err = chooseEngine(cmd.Flags(), fl); err != nil {
		return nil, err
	}
	if r := runner(); !slices.Contains(runners, r) {
		return nil, terminal.Usagef("--runner %s: want one of %s", r, strings.Join(runners, ", "))
	}
	if fl.jobs < 1 || fl.shardSize < 1 {
		return nil, terminal.Usagef("--jobs and --shard-size: want at least 1")
	}
	if k.speech && fl.maxChars < 1 {
		return nil, terminal.Usagef("--max-chars: want at least 1")
	}
	if err := fl.gates.Validate(); err != nil {
		return nil, terminal.Misuse(err)
	}
	if j.limit, err = parseLimit(fl.maxRejects); err != nil {
		return nil, err
	}
	if err := j.checkLong(); err != nil {
		return nil, err
	}
	j.places = locate()
	if fl.cache != "" {
		j.places.cache = fl.cache
	}
	j.options = plan.Options{
		Speech: k.speech, RetryRejects: fl.retry, Repair: fl.repair, DryRun: fl.dryRun, Jobs: fl.jobs,
		Settings: manifests.Settings{
			Format: fl.format, Lang: fl.lang, Rate: config.Rate, Seed: fl.seed,
			ShardSize: fl.shardSize, MaxChars: fl.maxChars, SplitLong: fl.long == "split", Gates: fl.gates,
		},
	}
	if k.mels {
		j.options.Mel = &config
		if j.options.Layout, err = checkLayout(fl.layout, config); err != nil {
			return nil, err
		}
	}
	return j, j.loadAugment()
}

// checkLayout reads --layout.
func checkLayout(text string, c mel.Config) (manifests.Layout, error) {
	l, err := manifests.ParseLayout(text)
	if err != nil {
		return l, terminal.Usagef("--layout: %w", err)
	}
	if l == manifests.Padded && c.PaddedFrames() == 0 {
		return l, terminal.Usagef("--layout padded: clips of %s have no fixed length to be padded to", c.Name)
	}
	return l, nil
}

// checkLong reads --long.
func (j *job) checkLong() error {
	switch {
	case j.long != "reject" && j.long != "split":
		return terminal.Usagef("--long %s: want reject or split", j.long)
	case j.long == "split" && j.remel:
		return terminal.Usagef("--long split: %s is a dataset, whose clips stay what they are; run the command that made it with --long split", j.source)
	}
	return nil
}

// melConfig is a preset, or a configuration of the user's own in a YAML file.
func melConfig(name string) (mel.Config, error) {
	if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
		return mel.Preset(name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return mel.Config{}, err
	}
	c, err := mel.ParseYAML(b)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// checkFolder finds the dataset's folder. For mel it may be the source itself.
func (j *job) checkFolder() error {
	if j.kind.source == "source" {
		src := datasets.At(j.source)
		d, _, err := src.Load()
		if d != nil && (j.out == "" || sameFile(j.out, j.source)) {
			j.out, j.remel = j.source, true
		} else if d != nil {
			j.source = src.Path(datasets.ManifestName) // another dataset's wavs
		} else if err != nil && j.out == "" {
			return err
		}
	}
	if j.out == "" {
		return terminal.Usagef("%s: say where the dataset goes, as in --out dataset", j.cmd.CommandPath())
	}
	out, err := filepath.Abs(j.out)
	if err != nil {
		return err
	}
	j.folder = datasets.At(out)
	return j.folder.CheckOurs()
}

func sameFile(a, b string) bool {
	x, errA := filepath.Abs(a)
	y, errB := filepath.Abs(b)
	return errA == nil && errB == nil && x == y
}

// checkVariety reads the voices and ranges. A wrong voice is a mistake on the
// command line, not in every line of the corpus.
func (a *app) checkVariety(ctx context.Context, j *job) error {
	if !j.kind.speech {
		return nil
	}
	v := plan.Variety{Variants: j.variants, Voices: []plan.Choice{{Voice: j.voice, Weight: 1}}}
	var err error
	if j.voices != "" {
		if j.cmd.Flags().Changed("voice") {
			return terminal.Usagef("--voice and --voices: give one of them")
		}
		if v.Voices, err = plan.ParseChoices(j.voices); err != nil {
			return terminal.Usagef("--voices: %w", err)
		}
	}
	if v.Speed, err = plan.ParseRange(j.speed); err != nil {
		return terminal.Usagef("--speed: %w", err)
	}
	if v.Pitch, err = plan.ParseRange(j.pitch); err != nil {
		return terminal.Usagef("--pitch: %w", err)
	}
	if v.Variants < 1 {
		return terminal.Usagef("--variants: want at least 1")
	}
	if v.Variants > 1 && v.Same() {
		return terminal.Usagef("--variants %d: all would be the same; give several --voices, or a range with --speed or --pitch", v.Variants)
	}
	if err := resolveVoices(ctx, j.options.Voices, v.Voices); err != nil {
		return err
	}
	j.options.Variety = v
	s := &j.options.Settings
	s.Voice, s.Speed, s.Pitch, s.Variants = choicesText(v.Voices), v.Speed.String(), v.Pitch.String(), v.Variants
	return nil
}

// resolveVoices replaces the names by full ones.
func resolveVoices(ctx context.Context, voices *tts.Set, choices []plan.Choice) error {
	for i := range choices {
		v, err := voices.Resolve(ctx, choices[i].Voice)
		var unknown *tts.UnknownVoice
		if errors.As(err, &unknown) {
			return terminal.Misuse(err)
		}
		if err != nil {
			return fmt.Errorf("voice %s: %w", choices[i].Voice, err)
		}
		choices[i].Voice = v.String()
	}
	return nil
}

// choicesText is what --voices would read.
func choicesText(choices []plan.Choice) string {
	var parts []string
	for _, c := range choices {
		if c.Weight == 1 {
			parts = append(parts, c.Voice)
		} else {
			parts = append(parts, fmt.Sprintf("%s=%g", c.Voice, c.Weight))
		}
	}
	return strings.Join(parts, ",")
}

// runners are those that Beam registers. Naming another one would end the
// process in the middle of Beam.
var runners = []string{
	"prism", "direct", "flink", "spark", "dataflow", "universal", "dot",
	"PrismRunner", "DirectRunner", "FlinkRunner", "SparkRunner", "DataflowRunner", "PortableRunner", "portable",
}

// runner is Beam's --runner, prism where none is named.
func runner() string {
	if f := flag.Lookup("runner"); f != nil && f.Value.String() != "" {
		return f.Value.String()
	}
	return "prism"
}
