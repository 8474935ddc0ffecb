package corpus

import (
	"encoding/json"
	"errors"
	"strings"
)

// object is a JSON record. The values stay raw, so that one of the wrong type
// is reported by name, and an id that is a number keeps its spelling.
type object struct {
	ID            json.RawMessage
	Text          json.RawMessage
	Sentence      json.RawMessage
	Transcript    json.RawMessage
	Lang          json.RawMessage
	Locale        json.RawMessage
	Language      json.RawMessage
	Voice         json.RawMessage
	Speed         json.RawMessage
	Pitch         json.RawMessage
	AudioFilepath json.RawMessage `json:"audio_filepath"`
	Path          json.RawMessage
	Audio         json.RawMessage
	File          json.RawMessage
	Wav           json.RawMessage
}

func parseJSON(raw []byte) (Line, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Line{}, reject(BadJSON, "not a JSON object")
		}
		return Line{}, reject(BadJSON, "%v", err)
	}
	return o.line()
}

// parseNeMo refuses a record without audio: speaking it would hide that a
// recording is missing.
func parseNeMo(raw []byte) (Line, error) {
	l, err := parseJSON(raw)
	if err == nil && l.Audio == "" {
		err = reject(NoAudio, "the object has no audio_filepath")
	}
	return l, err
}

func (o *object) line() (Line, error) {
	var v values
	l := Line{
		ID:    v.first("id", o.ID),
		Lang:  v.first("lang", o.Lang, o.Locale, o.Language),
		Voice: v.first("voice", o.Voice),
		Audio: v.first("audio", o.AudioFilepath, o.Path, o.Audio, o.File, o.Wav),
	}
	if v.err != nil {
		return l, v.err
	}
	text := firstGiven(o.Text, o.Sentence, o.Transcript)
	if text == nil {
		return l, reject(NoText, "the object has no field %s", strings.Join(textNames, ", "))
	}
	if text[0] != '"' {
		return l, reject(NoText, "the text is not a string")
	}
	l.Text = v.first("text", text)
	speed, pitch := v.first("speed", o.Speed), v.first("pitch", o.Pitch)
	if v.err != nil {
		return l, v.err
	}
	err := l.setNumbers(speed, pitch)
	return l, err
}

// values decodes fields and keeps the first error.
type values struct{ err error }

// first is the first of the spellings that is given, a string (trimmed) or the
// literal of a number.
func (v *values) first(name string, spellings ...json.RawMessage) string {
	raw := firstGiven(spellings...)
	if raw == nil || v.err != nil {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			v.err = reject(BadJSON, "%s: %v", name, err)
		}
		return strings.TrimSpace(s)
	case c == '-' || c >= '0' && c <= '9':
		return string(raw)
	}
	v.err = reject(BadJSON, "%s is neither a string nor a number", name)
	return ""
}

func firstGiven(spellings ...json.RawMessage) json.RawMessage {
	for _, raw := range spellings {
		if len(raw) > 0 && string(raw) != "null" {
			return raw
		}
	}
	return nil
}
