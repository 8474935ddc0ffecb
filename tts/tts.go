// Package tts speaks text: engines behind one small interface, their voices,
// and the guards in front of them.
//
// An engine that can take its process down runs in a worker process
// (melforge-tts); this package only talks to it. What an engine makes depends
// on the utterance and on the engine's fingerprint and on nothing else, so the
// two together are a cache key.
package tts

import (
	"context"
	"fmt"

	"github.com/melforge/melforge/audio"
)

// Utterance is one text to speak and how to speak it.
type Utterance struct {
	Text  string // as Clean returns it
	Voice Voice
	Speed float64 // 1 is normal, 2 is twice as fast
	Pitch float64 // semitones up or down, 0 is the voice's own
}

// Engine speaks. It is safe for concurrent use.
type Engine interface {
	// Fingerprint names everything besides the utterance that decides the
	// sound: the engine, its version, the hash of its model or voice data.
	Fingerprint(ctx context.Context, v Voice) (string, error)
	// Speak returns the sound at the engine's own rate. A *Refusal concerns
	// this utterance only; any other error is the engine's failure.
	Speak(ctx context.Context, u Utterance) (audio.PCM, error)
	// Voices lists what the engine can speak with here and now.
	Voices(ctx context.Context) ([]VoiceInfo, error)
	// Close ends the engine's processes.
	Close() error
}

// The stable reason codes of a Refusal.
const (
	ReasonEmpty            = "empty"
	ReasonNoLetters        = "no-letters"
	ReasonInvalidUTF8      = "invalid-utf8"
	ReasonMarkup           = "markup"
	ReasonScriptMismatch   = "script-mismatch"
	ReasonTooLong          = "too-long"
	ReasonBadSpeed         = "bad-speed"
	ReasonBadPitch         = "bad-pitch"
	ReasonPitchUnsupported = "pitch-unsupported"
	ReasonEngineDied       = "engine-died"
	ReasonEngineTimeout    = "engine-timeout"
	ReasonEngineFailed     = "engine-failed"
	ReasonNoAudio          = "no-audio"
	ReasonBadAudio         = "bad-audio"
	ReasonAudioTooLong     = "audio-too-long"
)

// Refusal says that this utterance cannot be spoken. It is a reject, not a
// failure: the next utterance may well be spoken.
type Refusal struct {
	Reason string // one of the Reason constants
	Detail string // for people
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Detail == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Detail
}

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
