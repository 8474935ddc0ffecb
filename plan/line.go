package plan

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"unicode/utf8"

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
	voice       tts.Voice
	speakers    int
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

// addSpeech decides a line that is to be spoken, in parts where it is too long.
func (b *builder) addSpeech(ctx context.Context, line corpus.Line) error {
	text, err := tts.Clean(line.Text, b.opts.Settings.MaxChars)
	if err != nil {
		return b.refuse(line, manifests.StageText, err)
	}
	texts, err := b.splitText(ctx, line, text)
	if err != nil {
		return err
	}
	if len(texts) < 2 {
		return b.addText(ctx, line, text)
	}
	id := line.ID
	if id == "" {
		id = b.autoID(text)
	}
	for i, text := range texts {
		line.ID, line.Text = partID(id, i), text
		if err := b.addText(ctx, line, text); err != nil {
			return err
		}
	}
	return nil
}

// addText decides a clean text, once for each variant.
func (b *builder) addText(ctx context.Context, line corpus.Line, text string) error {
	it := b.item(line)
	it.Text = text
	var err error
	if b.opts.Lexicon.Hash() != "" {
		if it.Spoken, err = tts.Clean(b.opts.Lexicon.Apply(line.Text), b.opts.Settings.MaxChars); err != nil {
			return b.refuse(line, manifests.StageText, err)
		}
		if it.Spoken == it.Text {
			it.Spoken = ""
		}
	}
	if it.ID == "" {
		it.ID = b.autoID(it.Text)
	}
	for variant := range max(1, b.opts.Variety.Variants) {
		if err := b.addVariant(ctx, line, it, variant); err != nil {
			return err
		}
	}
	return nil
}

// refuse rejects a line for what tts says of it; any other error ends the plan.
func (b *builder) refuse(line corpus.Line, stage manifests.Stage, err error) error {
	var refused *tts.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	return b.reject(line, stage, refused.Reason, refused.Detail)
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
	line.ID = it.ID // as it stands in a reject
	v, err := b.voice(ctx, name)
	if err == nil && v.speakers > 1 && v.voice.Speaker == tts.AnySpeaker {
		v.voice.Speaker = strconv.Itoa(d.speaker(v.speakers))
		v, err = b.voice(ctx, v.voice.String())
	}
	if err != nil {
		return err
	}
	if r := v.refused; r != nil {
		return b.reject(line, r.stage, r.reason, r.detail)
	}
	if spelt := b.opts.Lexicon.Phonemes(it.Say()); v.voice.Engine == "espeak" && spelt != it.Say() {
		it.Spoken = spelt
	}
	if err := b.opts.Voices.CheckScript(it.Say(), v.voice); err != nil {
		return b.refuse(line, manifests.StageText, err)
	}
	if too := b.tooLong(v, it); too != "" {
		return b.reject(line, manifests.StageText, tts.ReasonTooLong, too)
	}
	it.Voice = v.voice.String()
	it.Key = manifests.NewKey("speech", soundVersion, strconv.Itoa(b.opts.Settings.Rate), processing(b.opts.Settings.Gates),
		v.fingerprint, it.Voice, number(it.Speed), number(it.Pitch), it.Say())
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
func (b *builder) addGiven(r read) error {
	line := r.line
	switch {
	case line.Audio == "":
		return b.reject(line, manifests.StageCorpus, "no-audio", "the line names no wav")
	case errors.Is(r.wav.err, fs.ErrNotExist):
		return b.reject(line, manifests.StageCorpus, "missing-audio", line.Audio+" does not exist")
	case r.wav.err != nil:
		return b.reject(line, manifests.StageCorpus, "unreadable-audio", r.wav.err.Error())
	}
	it := b.item(line)
	it.Text, it.Audio, it.Voice = line.Text, r.path, line.Voice
	content := hex.EncodeToString(r.wav.sum[:])
	it.Key = manifests.NewKey("wav", soundVersion, strconv.Itoa(b.opts.Settings.Rate), content)
	if it.ID == "" {
		it.ID = b.autoID(content)
	}
	if parts := b.parts(it); len(parts) > 0 {
		return b.addParts(line, it, content, parts)
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
	b.voices[v.voice.String()] = v
	return v, nil
}

func (b *builder) resolve(ctx context.Context, name string) (voice, error) {
	full, err := b.opts.Voices.Resolve(ctx, name)
	var unknown *tts.UnknownVoice
	if errors.As(err, &unknown) {
		return voice{refused: &refusal{manifests.StageVoice, "unknown-voice", err.Error()}}, nil
	}
	if err != nil {
		return voice{}, err
	}
	v := voice{voice: full, speakers: 1, estimate: b.opts.Voices.Estimate(full)}
	if full.Speaker == tts.AnySpeaker {
		// Drawn for each utterance; the speaker has the fingerprint.
		v.speakers, err = b.opts.Voices.Speakers(ctx, full)
	} else {
		v.fingerprint, err = b.opts.Voices.Fingerprint(ctx, full)
	}
	if err != nil {
		return voice{}, fmt.Errorf("voice %s: %w", full, err)
	}
	return v, nil
}

// tooLong says why a text is not worth speaking: by a safe margin it would be
// longer than the gate lets through.
func (b *builder) tooLong(v voice, it manifests.Item) string {
	const margin = 1.5
	limit := b.opts.Settings.Gates.MaxSeconds
	seconds := v.estimate.SecondsPerChar * float64(utf8.RuneCountInString(it.Say())) / it.Speed
	if limit == 0 || seconds <= margin*limit {
		return ""
	}
	return fmt.Sprintf("about %.0f s of speech, the limit is %g s: split the text, or raise --max-seconds", seconds, limit)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
