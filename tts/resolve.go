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
// has it ("jenny", "libritts:12"). "piper:" and a path is the Piper voice in
// that .onnx file, which is prepared and gets a name of its own. The voice
// exists; whether its engine works is seen when it speaks.
func (s *Set) Resolve(ctx context.Context, name string) (Voice, error) {
	if isFile(name) {
		return s.addFile(ctx, name)
	}
	if voice := defaultVoices()[name]; voice != "" {
		name += "/" + voice
	}
	if strings.Contains(name, "/") {
		v, err := ParseVoice(name)
		if err != nil {
			return Voice{}, &UnknownVoice{Name: name, Why: "want ENGINE/NAME or ENGINE/NAME:SPEAKER, as in piper/jenny"}
		}
		if err := s.exists(ctx, v); err != nil {
			return Voice{}, err
		}
		return v, nil
	}
	var found []Voice
	var almost error // of an engine that knows the name, but not like this
	for _, engine := range engineNames() {
		v, err := ParseVoice(engine + "/" + name)
		if err != nil {
			break
		}
		err = s.exists(ctx, v)
		var unknown *UnknownVoice
		switch {
		case err == nil:
			found = append(found, v)
		case errors.As(err, &unknown) && unknown.Why != "" && almost == nil:
			almost = err
		}
	}
	switch {
	case len(found) == 0 && almost != nil:
		return Voice{}, almost
	case len(found) == 0:
		return Voice{}, s.unknown(ctx, name)
	case len(found) == 1:
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

// UnknownVoice is the error for a name that no engine knows, or not like this.
type UnknownVoice struct {
	Name    string
	Nearest string // the voice that may have been meant, "" if none is near
	Why     string // what is wrong with the name, and what to do, if that is known
}

// Error implements error.
func (u *UnknownVoice) Error() string {
	if u.Why != "" {
		return fmt.Sprintf("voice %q: %s", u.Name, u.Why)
	}
	if u.Nearest == "" {
		return fmt.Sprintf("unknown voice %q: `melforge voices` lists them all", u.Name)
	}
	return fmt.Sprintf("unknown voice %q: did you mean %s? `melforge voices` lists them all", u.Name, u.Nearest)
}
