// Package speech answers the requests of package tts with sherpa-onnx.
package speech

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"

	sherpa "github.com/k2-fsa/sherpa-onnx-go-linux"

	"github.com/melforge/melforge/cmd/melforge-tts/internal/pack"
	"github.com/melforge/melforge/tts"
	"github.com/melforge/melforge/tts/espeakdata"
	"github.com/melforge/melforge/tts/wire"
)

// almostZero stands for a noise of 0, which sherpa-onnx takes for "not set".
// 1e-12 is still heard in the last bit; with this the same text is the same
// bytes, in every process and whatever else is being spoken.
const almostZero = 1e-30

// settings name how a voice is run: a change of anything that is heard raises
// the number, and with it every fingerprint.
const settings = "settings 1"

// Config says where things are.
type Config struct {
	Cache      string           // folder for unpacked voices
	EspeakData string           // folder of espeak-ng's data
	Archives   map[string]fs.FS // by voice, what holds its dist.tzst
}

// Speaker speaks. It is safe for concurrent use.
type Speaker struct {
	c Config

	mu     sync.Mutex // held while a voice is loaded
	voices map[string]*voice
	ear    *ear
}

type voice struct {
	tts         *sherpa.OfflineTts
	fingerprint string
}

// New returns a Speaker. Voices are loaded when they are first asked for.
func New(c Config) *Speaker { return &Speaker{c: c, voices: make(map[string]*voice)} }

// Handle answers one request of package tts.
func (s *Speaker) Handle(_ context.Context, req []byte) ([]byte, error) {
	r, samples, err := wire.DecodeRequest(req)
	if err != nil {
		return nil, err
	}
	switch r.Op {
	case wire.OpAdd:
		return s.add(r)
	case wire.OpHear:
		return s.hear(r, samples)
	case wire.OpLoad, wire.OpSpeak:
		return s.answer(r)
	}
	return nil, fmt.Errorf("unknown operation %q", r.Op)
}

// answer loads a voice and speaks with it.
func (s *Speaker) answer(r wire.Request) ([]byte, error) {
	v, err := s.voice(r.Voice)
	if err != nil {
		return nil, err
	}
	speaker, err := v.speaker(r.Speaker)
	if err != nil {
		return nil, fmt.Errorf("voice %s: %w", r.Voice, err)
	}
	if r.Op == wire.OpSpeak {
		return v.speak(r, speaker)
	}
	return wire.Reply{Fingerprint: v.fingerprint, Rate: v.tts.SampleRate(), Speakers: max(v.tts.NumSpeakers(), 1)}.Encode(nil)
}

// add prepares a voice or the recogniser in the cache.
func (s *Speaker) add(r wire.Request) ([]byte, error) {
	if r.Voice != "" {
		if err := pack.AddPackage(s.c.Cache, r.Voice, r.File); err != nil {
			return nil, err
		}
		return wire.Reply{Name: r.Voice}.Encode(nil)
	}
	name, err := pack.AddFile(s.c.Cache, r.File)
	if err != nil {
		return nil, err
	}
	return wire.Reply{Name: name}.Encode(nil)
}

// files finds a voice's files: those this program carries, or the cache's.
func (s *Speaker) files(name string) (pack.Voice, error) {
	carried, ok := s.c.Archives[name]
	if !ok {
		return pack.Added(s.c.Cache, name)
	}
	archive, err := fs.ReadFile(carried, "dist.tzst")
	if err != nil {
		return pack.Voice{}, fmt.Errorf("voice %s: %w", name, err)
	}
	return pack.Open(s.c.Cache, name, archive)
}

// voice loads a voice once. A model that sherpa-onnx cannot take ends the
// process here.
func (s *Speaker) voice(name string) (*voice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.voices[name]; v != nil {
		return v, nil
	}
	packed, err := s.files(name)
	if err != nil {
		return nil, err
	}
	data, err := espeakdata.Hash(s.c.EspeakData)
	if err != nil {
		return nil, err
	}
	t := sherpa.NewOfflineTts(&sherpa.OfflineTtsConfig{
		Model: sherpa.OfflineTtsModelConfig{
			Vits: sherpa.OfflineTtsVitsModelConfig{
				Model:       packed.Model,
				Tokens:      packed.Tokens,
				DataDir:     s.c.EspeakData,
				NoiseScale:  almostZero,
				NoiseScaleW: almostZero,
				LengthScale: 1,
			},
			NumThreads: 1, // more threads change the sum's order and so the bits
			Provider:   "cpu",
		},
		MaxNumSentences: 1, // memory grows with what is spoken in one go
	})
	if t == nil {
		return nil, fmt.Errorf("sherpa-onnx cannot load %s with %s", packed.Model, s.c.EspeakData)
	}
	v := &voice{
		tts: t,
		fingerprint: fmt.Sprintf("piper sherpa-onnx %s %s model %s espeak-ng-data %s",
			sherpa.GetVersion(), settings, packed.Hash, data),
	}
	s.voices[name] = v
	return v, nil
}

// speaker returns the number of a speaker; none is the first.
func (v *voice) speaker(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(name)
	if count := v.tts.NumSpeakers(); err != nil || n < 0 || n >= max(count, 1) {
		return 0, fmt.Errorf("no speaker %q, want 0 to %d", name, max(count, 1)-1)
	}
	return n, nil
}

func (v *voice) speak(r wire.Request, speaker int) ([]byte, error) {
	if !(r.Speed > 0) {
		return nil, errors.New("speed must be above 0")
	}
	// SilenceScale: unset, pauses are cut to a fifth.
	sound := v.tts.GenerateWithConfig(r.Text, &sherpa.GenerationConfig{SilenceScale: 1, Speed: float32(r.Speed), Sid: speaker}, nil)
	if sound == nil || len(sound.Samples) == 0 {
		return wire.Reply{Refusal: tts.ReasonNoAudio, Detail: "the voice made no sound"}.Encode(nil)
	}
	samples, err := quantize(sound.Samples)
	if err != nil {
		return wire.Reply{Refusal: tts.ReasonBadAudio, Detail: err.Error()}.Encode(nil)
	}
	return wire.Reply{Rate: sound.SampleRate}.Encode(samples)
}
