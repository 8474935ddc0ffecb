package tts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/melforge/melforge/audio"
)

// maxWav is the most that is taken from a command: ten minutes at 48 kHz.
const maxWav = maxAudio*48000*2 + 4096

// maxFile bounds every file that a command writes. It is well above maxWav:
// programs that are linked with PulseAudio make a shared memory file of 64 MiB
// as they start.
const maxFile = 512 << 20

// commands speak with programs that the user names, one process an utterance.
type commands struct {
	o      Options
	voices map[string]ExecVoice
	seats  chan struct{}

	mu     sync.Mutex
	prints map[string]*once // by voice
}

// once holds a fingerprint that is found out by whoever comes first.
type once struct {
	lock  chan struct{}
	print string
}

func openCommands(o Options) *commands {
	return &commands{o: o, voices: o.Configured.Exec, seats: make(chan struct{}, o.Jobs), prints: make(map[string]*once)}
}

// Speak implements Engine. The voice has spoken its probe before, so an
// ordinary failure concerns this text.
func (c *commands) Speak(ctx context.Context, u Utterance) (audio.PCM, error) {
	if _, err := c.Fingerprint(ctx, u.Voice); err != nil {
		return audio.PCM{}, err
	}
	v := c.voices[u.Voice.Name]
	if err := v.takes(u); err != nil {
		return audio.PCM{}, err
	}
	pcm, err := c.say(ctx, u, v)
	var refusal *Refusal
	if err != nil && ctx.Err() == nil && !errors.As(err, &refusal) {
		return audio.PCM{}, refuse(ReasonEngineFailed, "%v", err)
	}
	return pcm, err
}

// takes refuses what the command has no place for.
func (v ExecVoice) takes(u Utterance) error {
	switch {
	case !(u.Speed > 0) || math.IsInf(u.Speed, 0):
		return refuse(ReasonBadSpeed, "speed must be above 0, not %g", u.Speed)
	case u.Speed != 1 && !v.has("{speed}", "{stretch}", "{percent}"):
		return refuse(ReasonBadSpeed, "the command of %s has no {speed}, {stretch} or {percent}; leave it at 1", u.Voice)
	case (u.Pitch != 0 || math.IsNaN(u.Pitch)) && !v.has("{pitch}"):
		return refuse(ReasonPitchUnsupported, "the command of %s has no {pitch}; leave it at 0", u.Voice)
	}
	return nil
}

// say runs the command in a folder of its own, which goes with it.
func (c *commands) say(ctx context.Context, u Utterance, v ExecVoice) (pcm audio.PCM, err error) {
	select {
	case c.seats <- struct{}{}:
		defer func() { <-c.seats }()
	case <-ctx.Done():
		return audio.PCM{}, ctx.Err()
	}
	dir, err := os.MkdirTemp("", "melforge-exec-")
	if err != nil {
		return audio.PCM{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out, err := c.wav(ctx, u, v, dir)
	if err != nil {
		return audio.PCM{}, err
	}
	if len(out) == 0 {
		return audio.PCM{}, refuse(ReasonNoAudio, "%s made no sound of %.40q", u.Voice, u.Text)
	}
	pcm, err = audio.DecodeWAV(out)
	switch {
	case err != nil:
		return audio.PCM{}, fmt.Errorf("%s: %w", u.Voice, err)
	case len(pcm.Samples) == 0:
		return audio.PCM{}, refuse(ReasonNoAudio, "%s made no sound of %.40q", u.Voice, u.Text)
	}
	return pcm, nil
}

// wav returns what the command makes, from its output or its file.
func (c *commands) wav(ctx context.Context, u Utterance, v ExecVoice, dir string) ([]byte, error) {
	text, wav := filepath.Join(dir, "text.txt"), filepath.Join(dir, "sound.wav")
	run, err := v.program(v.Command, c.o)
	if err != nil {
		return nil, err
	}
	run.dir, run.maxOutput, run.maxFile = dir, maxWav, maxFile
	values := v.values(u)
	values["{text_file}"], values["{wav_file}"] = text, wav
	for i, arg := range run.args {
		run.args[i] = placeholder.ReplaceAllStringFunc(arg, func(name string) string { return values[name] })
	}
	if !v.has("{text_file}") {
		run.stdin = u.Text + "\n"
	} else if err := os.WriteFile(text, []byte(u.Text+"\n"), 0o600); err != nil {
		return nil, err
	}
	out, err := run.run(ctx)
	if err != nil || !v.has("{wav_file}") {
		return out, err
	}
	return readSound(wav)
}

// readSound reads a file that a command wrote, if it did.
func readSound(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("what was written is no file but %v", info.Mode())
	case info.Size() > maxWav:
		return nil, refuse(ReasonAudioTooLong, "a wav of %d bytes", info.Size())
	}
	return os.ReadFile(path)
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// values are what stands for the placeholders. A value is never looked through
// for placeholders again.
func (v ExecVoice) values(u Utterance) map[string]string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	voice := v.Voice
	if voice == "" {
		voice = u.Voice.Name
	}
	return map[string]string{
		"{text_file}": "", "{wav_file}": "", "{dir}": v.dir, "{voice}": voice,
		"{speed}": number(u.Speed), "{stretch}": number(math.Round(1e6/u.Speed) / 1e6),
		"{percent}": number(math.Round(100 * u.Speed)), "{pitch}": number(u.Pitch),
	}
}

// has reports whether the command has one of the placeholders.
func (v ExecVoice) has(names ...string) bool {
	return slices.ContainsFunc(v.Command, func(arg string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(arg, name) })
	})
}

// program finds a command's program: on the PATH, or beside the voices file.
func (v ExecVoice) program(argv []string, o Options) (command, error) {
	path := argv[0]
	if strings.Contains(path, "/") && !filepath.IsAbs(path) {
		path = filepath.Join(v.dir, path)
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return command{}, fmt.Errorf("%w: install it, or correct the voices file", err)
	}
	timeout := o.Timeout
	if v.Limit > 0 {
		timeout = v.Limit
	}
	return command{path: path, args: slices.Clone(argv[1:]), timeout: timeout, maxOutput: 1 << 16}, nil
}

// Voices implements Engine.
func (c *commands) Voices(context.Context) ([]VoiceInfo, error) {
	var infos []VoiceInfo
	for _, name := range slices.Sorted(maps.Keys(c.voices)) {
		infos = append(infos, c.voices[name].info("exec", name, c.voices[name].Rate))
	}
	return infos, nil
}

func (c *commands) check(_ context.Context, v Voice) error { return configuredHas(c.voices, v) }

// configuredHas is check for voices that come from the voices file.
func configuredHas[T any](voices map[string]T, v Voice) error {
	if _, ok := voices[v.Name]; !ok {
		return fmt.Errorf("voice %s: %w in the voices file", v, errNoVoice)
	}
	if v.Speaker != "" {
		return &UnknownVoice{Name: v.String(), Why: "voices of the voices file have no speakers; leave out the colon"}
	}
	return nil
}

func (c *commands) lang(v Voice) string { return c.voices[v.Name].Lang }

// Close implements Engine.
func (c *commands) Close() error { return nil }
