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
}

type voice struct {
	tts         *sherpa.OfflineTts
	fingerprint string
}

// New returns a Speaker. Voices are loaded when they are first asked for.
func New(c Config) *Speaker { return &Speaker{c: c, voices: make(map[string]*voice)} }

// Handle answers one request of package tts.
func (s *Speaker) Handle(_ context.Context, req []byte) ([]byte, error) {
	r, err := wire.DecodeRequest(req)
	if err != nil {
		return nil, err
	}
	v, err := s.voice(r.Voice)
	if err != nil {
		return nil, err
	}
	speaker, err := v.speaker(r.Speaker)
	if err != nil {
		return nil, fmt.Errorf("voice %s: %w", r.Voice, err)
	}
	switch r.Op {
	case wire.OpLoad:
		return wire.Reply{Fingerprint: v.fingerprint, Rate: v.tts.SampleRate()}.Encode(nil)
	case wire.OpSpeak:
		return v.speak(r, speaker)
	}
	return nil, fmt.Errorf("unknown operation %q", r.Op)
}

// voice loads a voice once. A model that sherpa-onnx cannot take ends the
// process here.
func (s *Speaker) voice(name string) (*voice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.voices[name]; v != nil {
		return v, nil
	}
	files, ok := s.c.Archives[name]
	if !ok {
		return nil, fmt.Errorf("no voice %q in this program", name)
	}
	archive, err := fs.ReadFile(files, "dist.tzst")
	if err != nil {
		return nil, fmt.Errorf("voice %s: %w", name, err)
	}
	packed, err := pack.Open(s.c.Cache, name, archive)
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
