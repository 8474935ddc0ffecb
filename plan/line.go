package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/tts"
)

// refusal says why a line cannot be used.
type refusal struct {
	stage          manifests.Stage
	reason, detail string
}

// voice is a resolved voice name, or why it could not be resolved.
type voice struct {
	name        string // in full
	fingerprint string
	estimate    tts.Estimate
	refused     *refusal
}

// soundVersion stands for everything between an engine's output and the wav
// that is stored: the resampler and the rounding. It changes with them.
const soundVersion = "1"

// item begins an item with what every kind of line has.
func (b *builder) item(line corpus.Line) manifests.Item {
	it := manifests.Item{Line: line.Number, ID: line.ID, Lang: line.Lang}
	if it.Lang == "" {
		it.Lang = b.opts.Settings.Lang
	}
	return it
}

// addSpeech decides a line that is to be spoken, once for each variant.
func (b *builder) addSpeech(ctx context.Context, line corpus.Line) error {
	text, err := tts.Clean(line.Text, b.opts.Settings.MaxChars)
	var refused *tts.Refusal
	if errors.As(err, &refused) {
		return b.reject(line, manifests.StageText, refused.Reason, refused.Detail)
	}
	if err != nil {
		return err
	}
	it := b.item(line)
	it.Text = text
	if it.ID == "" {
		it.ID = b.autoID(text)
	}
	for variant := range max(1, b.opts.Variety.Variants) {
		if err := b.addVariant(ctx, line, it, variant); err != nil {
			return err
		}
	}
	return nil
}

// addVariant draws how a line is spoken. What the line itself says is not
// drawn.
func (b *builder) addVariant(ctx context.Context, line corpus.Line, it manifests.Item, variant int) error {
	d := newDraws(b.opts.Settings.Seed, it.ID, variant)
	name := d.voice(b.opts.Variety.Voices)
	it.Speed, it.Pitch = d.within(b.opts.Variety.Speed), d.within(b.opts.Variety.Pitch)
	if line.Voice != "" {
		name = line.Voice
	}
	if line.Speed != 0 {
		it.Speed = line.Speed
	}
	if line.Pitch != 0 {
		it.Pitch = line.Pitch
	}
	if variant > 0 {
		it.ID = fmt.Sprintf("%s~%d", it.ID, variant+1)
	}
	v, err := b.voice(ctx, name)
	if err != nil {
		return err
	}
	if r := v.refused; r != nil {
		line.ID = it.ID
		return b.reject(line, r.stage, r.reason, r.detail)
	}
	it.Voice = v.name
	it.Key = manifests.NewKey("speech", soundVersion, strconv.Itoa(b.opts.Settings.Rate), processing(b.opts.Settings.Gates),
		v.fingerprint, it.Voice, number(it.Speed), number(it.Pitch), it.Text)
	if err := b.enter(line, it); err != nil {
		return err
	}
	return b.addVersions(line, it)
}

// addVersions adds the augmented versions of an utterance.
func (b *builder) addVersions(line corpus.Line, it manifests.Item) error {
	base, id := it.Key, it.ID
	for n := 1; n <= b.opts.Settings.Versions; n++ {
		d := augment.Draw(b.opts.Settings.Augment, b.opts.Assets, b.opts.Settings.Seed, id, n)
		if d == (augment.Drawn{}) {
			continue // nothing was drawn: it would be the plain clip again
		}
		it.ID, it.Base, it.Augment = fmt.Sprintf("%s+%d", id, n), base, &d
		it.Key = manifests.NewKey("augment", soundVersion, base.String(), d.Key())
		if err := b.enter(line, it); err != nil {
			return err
		}
	}
	return nil
}

// processing is what is done to a sound before it is stored. The gates that
// only judge are not in it: they change what is in a dataset, not how it sounds.
func processing(g gates.Config) string {
	s := "loudness=" + number(g.Loudness)
	if g.Trim {
		s += " trim=" + number(g.TrimMargin)
	}
	return s
}

// addGiven decides a line that comes with its wav. The key is the hash of the
// file's bytes: a file that was moved or copied is the same clip.
func (b *builder) addGiven(line corpus.Line) error {
	if line.Audio == "" {
		return b.reject(line, manifests.StageCorpus, "no-audio", "the line names no wav")
	}
	path, err := filepath.Abs(line.Audio)
	if err != nil {
		return err
	}
	sum, err := hashFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return b.reject(line, manifests.StageCorpus, "missing-audio", line.Audio+" does not exist")
	case err != nil:
		return b.reject(line, manifests.StageCorpus, "unreadable-audio", err.Error())
	}
	it := b.item(line)
	it.Text, it.Audio, it.Voice = line.Text, path, line.Voice
	it.Key = manifests.NewKey("wav", soundVersion, strconv.Itoa(b.opts.Settings.Rate), sum)
	if it.ID == "" {
		it.ID = b.autoID(sum)
	}
	return b.enter(line, it)
}

// voice resolves a name once.
func (b *builder) voice(ctx context.Context, name string) (voice, error) {
	if v, ok := b.voices[name]; ok {
		return v, nil
	}
	v, err := b.resolve(ctx, name)
	if err != nil {
		return voice{}, err
	}
	b.voices[name] = v
	b.voices[v.name] = v
	return v, nil
}

func (b *builder) resolve(ctx context.Context, name string) (voice, error) {
	full, err := b.opts.Voices.Resolve(ctx, name)
	var unknown *tts.UnknownVoice
	if errors.As(err, &unknown) {
		return voice{name: name, refused: &refusal{manifests.StageVoice, "unknown-voice", err.Error()}}, nil
	}
	if err != nil {
		return voice{}, err
	}
	fp, err := b.opts.Voices.Fingerprint(ctx, full)
	if err != nil {
		return voice{}, fmt.Errorf("voice %s: %w", full, err)
	}
	return voice{name: full.String(), fingerprint: fp, estimate: b.opts.Voices.Estimate(full)}, nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}
