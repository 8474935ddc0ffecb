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

	"github.com/melforge/melforge/corpus"
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

// decide turns a corpus line into an item with its key, or refuses it.
func (b *builder) decide(ctx context.Context, line corpus.Line) (manifests.Item, *refusal, error) {
	it := manifests.Item{Line: line.Number, ID: line.ID, Lang: line.Lang}
	if it.Lang == "" {
		it.Lang = b.opts.Settings.Lang
	}
	if b.opts.Speech {
		return b.decideSpeech(ctx, it, line)
	}
	return b.decideGiven(it, line)
}

func (b *builder) decideSpeech(ctx context.Context, it manifests.Item, line corpus.Line) (manifests.Item, *refusal, error) {
	text, err := tts.Clean(line.Text, b.opts.Settings.MaxChars)
	var refused *tts.Refusal
	if errors.As(err, &refused) {
		return it, &refusal{manifests.StageText, refused.Reason, refused.Detail}, nil
	}
	if err != nil {
		return it, nil, err
	}
	v, err := b.voice(ctx, line.Voice)
	if err != nil || v.refused != nil {
		return it, v.refused, err
	}
	it.Text, it.Voice, it.Speed, it.Pitch = text, v.name, line.Speed, line.Pitch
	if it.Speed == 0 {
		it.Speed = 1
	}
	it.Key = manifests.NewKey("speech", soundVersion, strconv.Itoa(b.opts.Settings.Rate),
		v.fingerprint, it.Voice, number(it.Speed), number(it.Pitch), text)
	if it.ID == "" {
		it.ID = b.autoID(text)
	}
	return it, nil, nil
}

// decideGiven handles a line that comes with its wav. The key is the hash of
// the file's bytes: a file that was moved or copied is the same clip.
func (b *builder) decideGiven(it manifests.Item, line corpus.Line) (manifests.Item, *refusal, error) {
	if line.Audio == "" {
		return it, &refusal{manifests.StageCorpus, "no-audio", "the line names no wav"}, nil
	}
	path, err := filepath.Abs(line.Audio)
	if err != nil {
		return it, nil, err
	}
	sum, err := hashFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return it, &refusal{manifests.StageCorpus, "missing-audio", line.Audio + " does not exist"}, nil
	case err != nil:
		return it, &refusal{manifests.StageCorpus, "unreadable-audio", err.Error()}, nil
	}
	it.Text, it.Audio, it.Voice = line.Text, path, line.Voice
	it.Key = manifests.NewKey("wav", soundVersion, strconv.Itoa(b.opts.Settings.Rate), sum)
	if it.ID == "" {
		it.ID = b.autoID(sum)
	}
	return it, nil, nil
}

// voice resolves a name once; "" means the default.
func (b *builder) voice(ctx context.Context, name string) (voice, error) {
	if name == "" {
		name = b.opts.Settings.Voice
	}
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
