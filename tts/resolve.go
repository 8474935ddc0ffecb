package tts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/melforge/melforge/internal/nearest"
)

// defaultVoices are what an engine's name alone means.
func defaultVoices() map[string]string {
	return map[string]string{"piper": "jenny", "espeak": "en-us"}
}

// Resolve finds the voice that a name means: a full name ("espeak/en-gb+f3"),
// an engine ("piper" is piper/jenny), or a voice's own name if only one engine
// has it ("jenny"). The voice exists; whether its engine works is seen when it
// speaks.
func (s *Set) Resolve(ctx context.Context, name string) (Voice, error) {
	if voice := defaultVoices()[name]; voice != "" {
		name += "/" + voice
	}
	if strings.Contains(name, "/") {
		v, err := ParseVoice(name)
		if err != nil {
			return Voice{}, err
		}
		if err := s.exists(ctx, v); err != nil {
			return Voice{}, err
		}
		return v, nil
	}
	var found []Voice
	for _, engine := range engineNames() {
		v, err := ParseVoice(engine + "/" + name)
		if err != nil {
			break
		}
		if s.exists(ctx, v) == nil {
			found = append(found, v)
		}
	}
	switch len(found) {
	case 0:
		return Voice{}, s.unknown(ctx, name)
	case 1:
		return found[0], nil
	}
	return Voice{}, fmt.Errorf("voice %q is ambiguous: %v", name, found)
}

// errNoVoice is what an engine's check returns for a name it does not know.
var errNoVoice = errors.New("no such voice")

// exists returns nil if the engine has the voice.
func (s *Set) exists(ctx context.Context, v Voice) error {
	if !slices.Contains(engineNames(), v.Engine) {
		return s.unknown(ctx, v.String())
	}
	e, err := s.engine(v.Engine)
	if err != nil {
		return err
	}
	if err := e.check(ctx, v); !errors.Is(err, errNoVoice) {
		return err
	}
	return s.unknown(ctx, v.String())
}

// unknown is the error for a name that no engine knows, with the nearest one
// that is known.
func (s *Set) unknown(ctx context.Context, name string) error {
	infos, err := s.Voices(ctx)
	if err != nil {
		return fmt.Errorf("unknown voice %q, and no engine to ask: %w", name, err)
	}
	full := strings.Contains(name, "/")
	byName := map[string]string{}
	var names []string
	for _, i := range infos {
		known := i.Voice
		if !full {
			_, known, _ = strings.Cut(known, "/")
		}
		byName[known] = i.Voice
		names = append(names, known)
	}
	return &UnknownVoice{Name: name, Nearest: byName[nearest.Of(name, len(name)/2+1, names)]}
}

// UnknownVoice is the error for a name that no engine knows.
type UnknownVoice struct {
	Name    string
	Nearest string // the voice that may have been meant, "" if none is near
}

// Error implements error.
func (u *UnknownVoice) Error() string {
	if u.Nearest == "" {
		return fmt.Sprintf("unknown voice %q: `melforge voices` lists them all", u.Name)
	}
	return fmt.Sprintf("unknown voice %q: did you mean %s? `melforge voices` lists them all", u.Name, u.Nearest)
}
