package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/tts"
)

// defaultLoudness is broadcast's, EBU R 128. Neural voices come out 10 dB lower
// and each at its own level.
const defaultLoudness = -23

// addGateFlags adds a flag for each gate. Wavs that were there before are
// judged, but not changed.
func addGateFlags(f *pflag.FlagSet, k kind, g *gates.Config) {
	d := gates.Default()
	f.Float64Var(&g.MinSeconds, "min-seconds", d.MinSeconds, "reject shorter clips")
	f.Float64Var(&g.MaxSeconds, "max-seconds", d.MaxSeconds, "reject longer clips")
	f.Float64Var(&g.MinPeak, "min-peak", d.MinPeak, "reject clips whose loudest sample is below this part of full scale")
	f.Float64Var(&g.MaxClipped, "max-clipped", d.MaxClipped, "reject clips with a larger share of clipped samples (0: off)")
	if !k.speech {
		return
	}
	f.Float64Var(&g.MinSecondsPerChar, "min-seconds-per-char", d.MinSecondsPerChar, "reject clips that are faster for their text (0: off)")
	f.Float64Var(&g.MaxSecondsPerChar, "max-seconds-per-char", d.MaxSecondsPerChar, "reject clips that are slower for their text (0: off)")
	g.PaceAllowance = d.PaceAllowance
	f.Float64Var(&g.MaxLeadingSilence, "max-leading-silence", d.MaxLeadingSilence, "reject clips with more seconds of silence before the speech (0: off)")
	f.Float64Var(&g.MaxTrailingSilence, "max-trailing-silence", d.MaxTrailingSilence, "reject clips with more seconds of silence after it (0: off)")
	f.BoolVar(&g.Trim, "trim", false, "cut silence at both ends down to --trim-margin")
	f.Float64Var(&g.TrimMargin, "trim-margin", d.TrimMargin, "seconds of silence that --trim leaves")
	f.Float64Var(&g.Loudness, "loudness", defaultLoudness, "bring every clip to this loudness in LUFS (0: leave it as it is)")
}

// openVoices opens the speech engines with what the command line adds to them.
func (j *job) openVoices(l zerolog.Logger) (*tts.Set, error) {
	own := j.places
	if j.voicesFile != "" {
		own.voicesFile = j.voicesFile
	}
	voices, err := own.voices(l, j.jobs, j.anyScript)
	if err != nil {
		return nil, terminal.Misuse(err)
	}
	if j.lexicon != "" {
		if j.options.Lexicon, err = tts.ReadLexicon(j.lexicon); err != nil {
			return nil, terminal.Usagef("--lexicon: %w", err)
		}
		j.options.Settings.Lexicon = j.options.Lexicon.Hash()
	}
	if j.checkASR {
		if !(j.maxWER > 0) {
			return nil, terminal.Usagef("--max-wer: want a number above 0")
		}
		j.options.Settings.MaxWER = j.maxWER
	}
	return voices, nil
}

// loadAugment reads the recipe and the noises and rooms that it names.
func (j *job) loadAugment() error {
	if j.augment == "" {
		return nil
	}
	if j.versions < 1 {
		return terminal.Usagef("--augment-versions: want at least 1")
	}
	b, err := os.ReadFile(j.augment)
	if err != nil {
		return terminal.Usagef("--augment: %w", err)
	}
	var r augment.Recipe
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&r); err != nil {
		return terminal.Usagef("--augment %s: %w", j.augment, err)
	}
	if r == (augment.Recipe{}) {
		return terminal.Usagef("--augment %s: the recipe does nothing", j.augment)
	}
	// Folders are relative to the recipe, and stored whole: workers may run
	// elsewhere.
	base := filepath.Dir(j.augment)
	for _, dir := range []*string{&r.Noise.Dir, &r.Reverb.Dir} {
		if *dir == "" {
			continue
		}
		if !filepath.IsAbs(*dir) {
			*dir = filepath.Join(base, *dir)
		}
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	s := &j.options.Settings
	s.Augment, s.Versions = r, j.versions
	if j.options.Assets, err = augment.LoadAssets(r, s.Rate, 0); err != nil {
		return terminal.Usagef("--augment %s: %w", j.augment, err)
	}
	return nil
}
