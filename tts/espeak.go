package tts

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/tts/espeakdata"
)

// espeakRate is the rate at which espeak-ng speaks.
const espeakRate = 22050

// espeak speaks with the espeak-ng command, one process an utterance: the
// library is neither safe for concurrent use nor free of memory, and says the
// same sentence differently the second time.
type espeak struct {
	path    string
	timeout time.Duration
	seats   chan struct{} // processes at a time

	learn sync.Mutex // one process at a time fills what follows
	known *espeakFacts
}

// espeakFacts are what the installed espeak-ng says of itself.
type espeakFacts struct {
	fingerprint string
	voices      []VoiceInfo
	names       map[string]bool
	variants    map[string]bool
}

func openEspeak(o Options) (*espeak, error) {
	path, err := exec.LookPath("espeak-ng")
	if err != nil {
		return nil, fmt.Errorf("espeak-ng is not installed (apt-get install espeak-ng): %w", err)
	}
	return &espeak{path: path, timeout: o.Timeout, seats: make(chan struct{}, o.Jobs)}, nil
}

// Speak implements Engine.
func (e *espeak) Speak(ctx context.Context, u Utterance) (audio.PCM, error) {
	args, err := espeakArgs(u)
	if err != nil {
		return audio.PCM{}, err
	}
	if err := e.check(ctx, u.Voice); err != nil {
		return audio.PCM{}, err
	}
	select {
	case e.seats <- struct{}{}:
		defer func() { <-e.seats }()
	case <-ctx.Done():
		return audio.PCM{}, ctx.Err()
	}
	c := command{path: e.path, args: args, stdin: u.Text, timeout: e.timeout, maxOutput: maxAudio * espeakRate * 2}
	out, err := c.run(ctx)
	if err != nil {
		return audio.PCM{}, err
	}
	if len(out) == 0 {
		return audio.PCM{}, refuse(ReasonNoAudio, "espeak-ng made no sound of %.40q", u.Text)
	}
	pcm, err := audio.DecodeWAV(out)
	if err != nil {
		return audio.PCM{}, fmt.Errorf("espeak-ng: %w", err)
	}
	if len(pcm.Samples) == 0 {
		return audio.PCM{}, refuse(ReasonNoAudio, "espeak-ng made no sound of %.40q", u.Text)
	}
	return pcm, nil
}

// espeakArgs never holds the text: that goes to the standard input, where
// nothing can be taken for an option.
func espeakArgs(u Utterance) ([]string, error) {
	words := math.Round(175 * u.Speed)
	if !(words >= 80 && words <= 450) {
		return nil, refuse(ReasonBadSpeed, "espeak-ng speaks 80 to 450 words a minute: speed 0.46 to 2.57, not %g", u.Speed)
	}
	pitch := 50 + math.Round(u.Pitch*50/12)
	if !(pitch >= 0 && pitch <= 99) {
		return nil, refuse(ReasonBadPitch, "espeak-ng shifts by -12 to +11.8 semitones, not %g", u.Pitch)
	}
	return []string{"--stdin", "--stdout", "-b", "1", "-v", u.Voice.Name,
		"-s", strconv.Itoa(int(words)), "-p", strconv.Itoa(int(pitch))}, nil
}

// Fingerprint implements Engine. The data folder is one for all voices.
func (e *espeak) Fingerprint(ctx context.Context, v Voice) (string, error) {
	if err := e.check(ctx, v); err != nil {
		return "", err
	}
	facts, err := e.facts(ctx)
	if err != nil {
		return "", err
	}
	return facts.fingerprint, nil
}

// Voices implements Engine.
func (e *espeak) Voices(ctx context.Context) ([]VoiceInfo, error) {
	facts, err := e.facts(ctx)
	if err != nil {
		return nil, err
	}
	return facts.voices, nil
}

// lang implements engine: a voice is its language and perhaps a variant.
func (e *espeak) lang(v Voice) string {
	lang, _, _ := strings.Cut(v.Name, "+")
	return lang
}

// Close implements Engine.
func (e *espeak) Close() error { return nil }

// facts asks espeak-ng about itself, once.
func (e *espeak) facts(ctx context.Context) (*espeakFacts, error) {
	e.learn.Lock()
	defer e.learn.Unlock()
	if e.known != nil {
		return e.known, nil
	}
	said := make(map[string]string)
	for _, option := range []string{"--version", "--voices", "--voices=variant"} {
		out, err := command{path: e.path, args: []string{option}, timeout: e.timeout, maxOutput: 1 << 20}.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("espeak-ng %s: %w", option, err)
		}
		said[option] = string(out)
	}
	version, data, err := parseEspeakVersion(said["--version"])
	if err != nil {
		return nil, err
	}
	hash, err := espeakdata.Hash(data)
	if err != nil {
		return nil, err
	}
	facts := &espeakFacts{fingerprint: "espeak-ng " + version + " data " + hash}
	facts.voices, facts.names = parseEspeakVoices(said["--voices"])
	facts.variants = parseEspeakVariants(said["--voices=variant"])
	e.known = facts
	return facts, nil
}
