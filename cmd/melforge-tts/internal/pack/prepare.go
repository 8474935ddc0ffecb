package pack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// config is what is needed of a Piper voice's JSON file.
type config struct {
	Audio struct {
		SampleRate int `json:"sample_rate"`
	} `json:"audio"`
	Espeak struct {
		Voice string `json:"voice"`
	} `json:"espeak"`
	Language struct {
		NameEnglish string `json:"name_english"`
	} `json:"language"`
	PhonemeType  string           `json:"phoneme_type"`
	NumSpeakers  int              `json:"num_speakers"`
	PhonemeIDMap map[string][]int `json:"phoneme_id_map"`
}

func parseConfig(b []byte) (config, error) {
	var c config
	if err := json.Unmarshal(b, &c); err != nil {
		return config{}, err
	}
	if c.Audio.SampleRate <= 0 || c.Espeak.Voice == "" || len(c.PhonemeIDMap) == 0 {
		return config{}, errors.New("sample rate, espeak voice or phonemes are missing")
	}
	if c.PhonemeType != "" && c.PhonemeType != "espeak" {
		return config{}, fmt.Errorf("phonemes of type %q: only voices with espeak's can be spoken with", c.PhonemeType)
	}
	c.NumSpeakers = max(c.NumSpeakers, 1)
	return c, nil
}

// files returns a prepared voice.
func (c config) files(model []byte) (map[string][]byte, error) {
	tokens, err := c.tokens()
	if err != nil {
		return nil, err
	}
	if !prepared(model) {
		model = append(model, c.metadata()...)
	}
	return map[string][]byte{modelFile: model, tokensFile: tokens}, nil
}

// prepared reports whether a model has sherpa-onnx's properties already. They
// are at its end.
func prepared(model []byte) bool {
	return bytes.Contains(model[max(0, len(model)-1<<16):], []byte("\x0a\x0bsample_rate\x12"))
}

// metadata returns the bytes that, appended to the ONNX file, give it the
// properties sherpa-onnx asks for; without them it exits. They are
// ModelProto.metadata_props, and a protobuf message may be extended by
// appending to it.
func (c config) metadata() []byte {
	const metadataProps, key, value = 14, 1, 2
	var b []byte
	for _, p := range [][2]string{
		{"model_type", "vits"},
		{"comment", "piper"},
		{"language", c.Language.NameEnglish},
		{"voice", c.Espeak.Voice},
		{"has_espeak", "1"},
		{"n_speakers", strconv.Itoa(c.NumSpeakers)},
		{"sample_rate", strconv.Itoa(c.Audio.SampleRate)},
	} {
		entry := appendField(nil, key, []byte(p[0]))
		entry = appendField(entry, value, []byte(p[1]))
		b = appendField(b, metadataProps, entry)
	}
	return b
}

// appendField appends a length-delimited protobuf field.
func appendField(b []byte, number uint64, v []byte) []byte {
	b = binary.AppendUvarint(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

// tokens returns the phoneme table as sherpa-onnx reads it: a line for each
// phoneme with its number. It exits on a number given twice.
func (c config) tokens() ([]byte, error) {
	type token struct {
		phoneme string
		id      int
	}
	var all []token
	for phoneme, ids := range c.PhonemeIDMap {
		if len(ids) != 1 {
			return nil, fmt.Errorf("phoneme %q has %d numbers, want one", phoneme, len(ids))
		}
		if strings.ContainsAny(phoneme, "\r\n") {
			continue // it would break the table, and no text has it
		}
		all = append(all, token{phoneme, ids[0]})
	}
	slices.SortFunc(all, func(a, b token) int { return a.id - b.id })
	var b bytes.Buffer
	for i, t := range all {
		if i > 0 && all[i-1].id == t.id {
			return nil, fmt.Errorf("phonemes %q and %q have one number, %d", all[i-1].phoneme, t.phoneme, t.id)
		}
		fmt.Fprintf(&b, "%s %d\n", t.phoneme, t.id)
	}
	return b.Bytes(), nil
}
