package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/melforge/melforge/trainer/whisper"
)

// Generation is what generation_config.json says of decoding.
type Generation struct {
	Suppress      []int32          `json:"suppress_tokens"`
	SuppressFirst []int32          `json:"begin_suppress_tokens"`
	Languages     map[string]int32 `json:"lang_to_id"`
	Tasks         map[string]int32 `json:"task_to_id"`
	NoTimestamps  *int32           `json:"no_timestamps_token_id"`
	Multilingual  *bool            `json:"is_multilingual"`
	MaxLength     int              `json:"max_length"`
}

// openGeneration reads generation_config.json, or where there is none takes
// what old folders have in config.json.
func (f *Folder) openGeneration() error {
	name := generationFile
	data, err := readJSON(f.Dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		name = configFile
		data, err = readJSON(f.Dir, name)
	}
	if err != nil {
		return err
	}
	if f.Generation, err = parseGeneration(data, f.Config); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(f.Dir, name), err)
	}
	return nil
}

func parseGeneration(data []byte, c whisper.Config) (Generation, error) {
	var g Generation
	if err := json.Unmarshal(data, &g); err != nil {
		return g, err
	}
	if g.MaxLength <= 0 || g.MaxLength > c.MaxTarget {
		g.MaxLength = c.MaxTarget
	}
	// transformers' own defaults use -1 for nothing to suppress.
	isNone := func(t int32) bool { return t == -1 }
	g.Suppress = slices.DeleteFunc(g.Suppress, isNone)
	g.SuppressFirst = slices.DeleteFunc(g.SuppressFirst, isNone)
	for _, t := range slices.Concat(g.Suppress, g.SuppressFirst) {
		if t < 0 || int(t) >= c.Vocabulary {
			return g, fmt.Errorf("token %d is to be suppressed and is outside the vocabulary of %d", t, c.Vocabulary)
		}
	}
	return g, nil
}

// Rules are those of greedy decoding after the prompt that the tokenizer makes
// for a language.
func (f *Folder) Rules(prompt []int32) whisper.Rules {
	return whisper.Rules{
		Prompt:        prompt,
		Suppress:      f.Generation.Suppress,
		SuppressFirst: f.Generation.SuppressFirst,
		End:           int32(f.Config.EndToken),
		MaxLength:     f.Generation.MaxLength,
	}
}
