package main

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/transforms"
	"github.com/melforge/melforge/tts"
)

// places is where this machine has what we need.
type places struct {
	worker     string // melforge-tts
	cuda       string // melforge-cuda
	cache      string
	voicesFile string // voices of the user's own
}

// locate finds them. The environment is read here and nowhere else.
func locate() places {
	var p places
	if p.worker = os.Getenv("MELFORGE_TTS"); p.worker == "" {
		if path, err := sibling("melforge-tts"); err == nil {
			p.worker = path
		}
	}
	if p.cuda = os.Getenv("MELFORGE_CUDA"); p.cuda == "" {
		if path, err := sibling("melforge-cuda"); err == nil {
			p.cuda = path
		}
	}
	if p.cache = os.Getenv("MELFORGE_CACHE"); p.cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			base = os.TempDir()
		}
		p.cache = filepath.Join(base, "melforge")
	}
	p.voicesFile = os.Getenv("MELFORGE_VOICES")
	return p
}

// voices opens the speech engines here.
func (p places) voices(l zerolog.Logger, jobs int, anyScript bool) (*tts.Set, error) {
	o := tts.Options{
		Worker: p.worker, CacheDir: p.cache, Jobs: jobs, AnyScript: anyScript, Getenv: os.Getenv,
		Log: func(line string) { l.Info().Str("from", "voices").Msg(line) },
	}
	if p.voicesFile != "" {
		var err error
		if o.Configured, err = tts.ReadVoices(p.voicesFile); err != nil {
			return nil, err
		}
	}
	return tts.Open(o), nil
}

// host is what this process brings to a pipeline.
func host(voices *tts.Set, l zerolog.Logger) transforms.Host {
	return transforms.Host{Voices: voices, Jobs: runtime.NumCPU(), Engine: func(e transforms.Engine, c mel.Config, jobs int) (mel.Engine, error) {
		return openEngine(e, c, jobs, l)
	}}
}

// initBeam readies Beam in the process that launches a pipeline.
func initBeam(l zerolog.Logger) error {
	// pflag has set Beam's flags; the flag package only has to believe that
	// the command line was parsed.
	if err := flag.CommandLine.Parse(nil); err != nil {
		return err
	}
	beam.Init()
	bridgeLogs(l)
	// Remote runners stage this very binary: Beam would otherwise build one
	// without cgo, and without HDF5.
	if *jobopts.WorkerBinary == "" {
		if self, err := os.Executable(); err == nil {
			*jobopts.WorkerBinary = self
		}
	}
	return nil
}

// addBeamFlags passes Beam's own flags through. There are dozens; they are
// hidden from the help of each command.
func addBeamFlags(f *pflag.FlagSet) {
	flag.VisitAll(func(g *flag.Flag) {
		if f.Lookup(g.Name) != nil || g.Name == "worker" {
			return
		}
		p := pflag.PFlagFromGoFlag(g)
		p.Shorthand = "" // pflag gives one-letter Go flags a shorthand
		p.Hidden = true
		f.AddFlag(p)
	})
}
