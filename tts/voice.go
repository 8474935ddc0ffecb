package tts

import (
	"fmt"
	"regexp"
	"strings"
)

// Voice names who speaks: "piper/jenny", "espeak/en-us+f3". A speaker of a
// voice with many follows a colon: "piper/libritts:12", or "*" for any of them.
type Voice struct {
	Engine  string
	Name    string
	Speaker string
}

// String is the voice as it is written and parsed.
func (v Voice) String() string {
	s := v.Engine + "/" + v.Name
	if v.Speaker != "" {
		s += ":" + v.Speaker
	}
	return s
}

// The character set is strict because names become command-line arguments and
// file names: nothing starts with "-" or ".", nothing holds a "/".
var (
	engineName  = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)
	voiceName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}$`)
	speakerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// ParseVoice reads a full voice name, "engine/name" or "engine/name:speaker".
// It checks the form only; Set.Resolve also knows the voices.
func ParseVoice(s string) (Voice, error) {
	engine, rest, ok := strings.Cut(s, "/")
	if !ok {
		return Voice{}, fmt.Errorf("voice %q: want ENGINE/NAME, as in piper/jenny", s)
	}
	name, speaker, colon := strings.Cut(rest, ":")
	v := Voice{Engine: engine, Name: name, Speaker: speaker}
	if !engineName.MatchString(engine) || !voiceName.MatchString(name) || colon && speaker != AnySpeaker && !speakerName.MatchString(speaker) {
		return Voice{}, fmt.Errorf("voice %q: want ENGINE/NAME or ENGINE/NAME:SPEAKER of letters, digits and _.+-", s)
	}
	return v, nil
}
