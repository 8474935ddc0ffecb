package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// book is what a dataset says of how its clips were made.
type book struct {
	dir     string
	gates   gates.Config
	rate    int
	entries map[string]manifests.Entry // by id
}

// openBook reads dataset.json and its manifest.
func openBook(dir string) (*book, error) {
	path := filepath.Join(dir, "dataset.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := manifests.DecodeDataset(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, filepath.FromSlash(d.Manifest.File))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	k := &book{dir: dir, gates: d.Settings.Gates, rate: d.Settings.Rate, entries: map[string]manifests.Entry{}}
	for e, err := range manifests.Entries(f, path) {
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		k.entries[e.ID] = e
	}
	return k, f.Close()
}

// studio speaks the clips of a dataset again and computes their mels, as the
// forge does, but keeps nothing.
type studio struct {
	book      *book
	voices    *tts.Set
	voice     *tts.Voice // for all clips; nil: each has its own
	resampler audio.Resampler
	engine    mel.Engine
	jobs      int
}

func openStudio(ctx context.Context, k *book, c mel.Config, voice string, jobs int, log zerolog.Logger) (*studio, error) {
	s := &studio{book: k, jobs: jobs, voices: tts.Open(tts.Options{
		Worker: worker(), CacheDir: cache(), Jobs: jobs, AnyScript: true, Getenv: os.Getenv,
		Log: func(line string) { log.Info().Str("from", "voices").Msg(line) },
	})}
	var err error
	if s.engine, err = mel.NewCPU(c, jobs); err != nil {
		return nil, errors.Join(err, s.voices.Close())
	}
	if voice != "" {
		v, err := s.voices.Resolve(ctx, voice)
		if err != nil {
			return nil, errors.Join(terminal.Usagef("--voice: %w", err), s.close())
		}
		s.voice = &v
		return s, nil
	}
	for id, e := range k.entries {
		if e.Voice == "" || e.Augment != nil {
			return nil, errors.Join(terminal.Usagef("%s: clip %s was not just spoken: compare needs a dataset of plain speech, or --voice to speak its texts with", k.dir, id), s.close())
		}
	}
	return s, nil
}

func (s *studio) close() error { return errors.Join(s.voices.Close(), s.engine.Close()) }

// mel speaks a clip and computes its mel, which use sees.
func (s *studio) mel(ctx context.Context, id string, use func(mel.Mel)) error {
	e, ok := s.book.entries[id]
	if !ok {
		return fmt.Errorf("clip %s is new in %s: run compare again", id, s.book.dir)
	}
	pcm, err := s.speak(ctx, e)
	if err != nil {
		return fmt.Errorf("clip %s: %w", id, err)
	}
	room, err := s.engine.Clip(ctx, len(pcm.Samples))
	if err != nil {
		return err
	}
	defer room.Release()
	copy(room.Samples(), pcm.Samples)
	m, err := room.Compute(ctx)
	if err != nil {
		return fmt.Errorf("clip %s: %w", id, err)
	}
	use(m)
	return nil
}

// speak gives the sound that the forge would store.
func (s *studio) speak(ctx context.Context, e manifests.Entry) (audio.PCM, error) {
	text := e.Text
	if e.Spoken != "" {
		text = e.Spoken
	}
	u := tts.Utterance{Text: text, Speed: e.Speed, Pitch: e.Pitch}
	if u.Speed == 0 {
		u.Speed = 1
	}
	if s.voice != nil {
		u.Voice = *s.voice
	} else {
		var err error
		if u.Voice, err = tts.ParseVoice(e.Voice); err != nil {
			return audio.PCM{}, err
		}
	}
	pcm, err := s.voices.Speak(ctx, u)
	if err != nil {
		return pcm, err
	}
	pcm, _, refused := s.book.gates.Apply(s.resampler.Resample(pcm, s.book.rate), text)
	if refused != nil && s.voice == nil {
		return pcm, fmt.Errorf("%s: %s", refused.Reason, refused.Detail)
	}
	return pcm, nil
}

// worker is melforge-tts: named by the environment, beside this program, or in
// the PATH.
func worker() string {
	if path := os.Getenv("MELFORGE_TTS"); path != "" {
		return path
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			path := filepath.Join(filepath.Dir(self), "melforge-tts")
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	path, err := exec.LookPath("melforge-tts")
	if err != nil {
		return ""
	}
	return path
}

// cache is where voices are unpacked.
func cache() string {
	if dir := os.Getenv("MELFORGE_CACHE"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "melforge")
}
