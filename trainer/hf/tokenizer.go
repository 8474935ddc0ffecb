package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	startOfTranscript = "<|startoftranscript|>"
	endOfText         = "<|endoftext|>"
	transcribe        = "<|transcribe|>"
	noTimestamps      = "<|notimestamps|>"

	byteLevel = "ByteLevel"
)

// bytesPerToken is more than any text has on average. The work of encoding
// grows with the square of a word's length, so that texts which cannot fit are
// refused before.
const bytesPerToken = 16

// multilingual is the smallest vocabulary of a published model that has languages
// to choose from, for folders that do not say.
const multilingual = 51865

// Tokenizer turns texts into labels and back, as transformers' WhisperTokenizer
// does for the task of transcribing without timestamps.
type Tokenizer struct {
	bpe      *bpe
	tokens   map[string]int32 // the special ones, by name
	longest  int              // of those names
	angled   bool             // whether all of them begin with <
	special  int32            // ids from here on are special
	multi    bool             // whether there are languages to choose from
	maxLabel int
}

// Tokenizer opens tokenizer.json and holds it to the model: every token that
// it can make must be in the vocabulary, and the special ones must be those of
// the configuration.
func (f *Folder) Tokenizer() (*Tokenizer, error) {
	path := filepath.Join(f.Dir, tokenizerFile)
	data, err := readJSON(f.Dir, tokenizerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: save it there with transformers' WhisperTokenizer.save_pretrained", f.Dir, tokenizerFile)
	}
	if err != nil {
		return nil, err
	}
	t, err := parseTokenizer(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.maxLabel = f.Config.MaxTarget
	if err := t.fits(f); err != nil {
		return nil, fmt.Errorf("%s does not belong to %s: %w", path, filepath.Join(f.Dir, configFile), err)
	}
	return t, nil
}

// tokenizerJSON is a tokenizer.json, as far as Whisper's use it.
type tokenizerJSON struct {
	Model bpeJSON     `json:"model"`
	Added []addedJSON `json:"added_tokens"`
	Split struct {
		Type   string
		Prefix bool  `json:"add_prefix_space"`
		Regex  *bool `json:"use_regex"`
	} `json:"pre_tokenizer"`
	Decoder    struct{ Type string } `json:"decoder"`
	Normalizer json.RawMessage       `json:"normalizer"`
}

type addedJSON struct {
	ID      int32  `json:"id"`
	Content string `json:"content"`
	Left    bool   `json:"lstrip"`
	Right   bool   `json:"rstrip"`
	Word    bool   `json:"single_word"`
}

// check refuses what would make other tokens than those we make.
func (f tokenizerJSON) check() error {
	if s, d := f.Split.Type, f.Decoder.Type; s != byteLevel || d != byteLevel {
		return fmt.Errorf("it splits by %q and decodes by %q: Whisper's do both by %q", s, d, byteLevel)
	}
	if n := string(f.Normalizer); f.Split.Prefix || f.Split.Regex != nil && !*f.Split.Regex || n != "" && n != "null" {
		return errors.New("it adds a space, normalizes texts or does not split words: Whisper's does none of it")
	}
	for _, a := range f.Added {
		if a.Content == "" || a.ID < 0 || a.Left || a.Right || a.Word {
			return fmt.Errorf("the added token %d, %q, is none of Whisper's", a.ID, a.Content)
		}
	}
	return nil
}

func parseTokenizer(data []byte) (*Tokenizer, error) {
	var file tokenizerJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if err := file.check(); err != nil {
		return nil, err
	}
	e, err := newBPE(file.Model)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{bpe: e, tokens: map[string]int32{}, angled: true}
	for _, a := range file.Added {
		t.tokens[a.Content] = a.ID
		t.longest = max(t.longest, len(a.Content))
		t.angled = t.angled && a.Content[0] == '<'
	}
	for _, name := range []string{startOfTranscript, endOfText, transcribe, noTimestamps} {
		if _, ok := t.tokens[name]; !ok {
			return nil, fmt.Errorf("it has no token %s: it is not Whisper's", name)
		}
	}
	t.special = t.tokens[endOfText]
	return t, nil
}

// fits says where the tokenizer and the model's configuration disagree.
func (t *Tokenizer) fits(f *Folder) error {
	c := f.Config
	if got, want := t.tokens[startOfTranscript], int32(c.StartToken); got != want {
		return fmt.Errorf("%s is %d, and decoder_start_token_id %d", startOfTranscript, got, want)
	}
	if got, want := t.tokens[endOfText], int32(c.EndToken); got != want {
		return fmt.Errorf("%s is %d, and eos_token_id %d", endOfText, got, want)
	}
	if g := f.Generation.NoTimestamps; g != nil && *g != t.tokens[noTimestamps] {
		return fmt.Errorf("%s is %d, and no_timestamps_token_id %d", noTimestamps, t.tokens[noTimestamps], *g)
	}
	for name, id := range t.tokens {
		if int(id) >= c.Vocabulary {
			return fmt.Errorf("the token %s is %d, and vocab_size %d", name, id, c.Vocabulary)
		}
	}
	for name, id := range f.Generation.Languages {
		if got, ok := t.tokens[name]; !ok || got != id {
			return fmt.Errorf("%s is %d in lang_to_id, and the tokenizer has another", name, id)
		}
	}
	t.multi = c.Vocabulary >= multilingual
	if m := f.Generation.Multilingual; m != nil {
		t.multi = *m
	}
	return nil
}

// languages are those that the tokenizer knows, as "en".
func (t *Tokenizer) languages() []string {
	var codes []string
	for name := range t.tokens {
		code := strings.TrimSuffix(strings.TrimPrefix(name, "<|"), "|>")
		if n := len(code); (n == 2 || n == 3) && strings.IndexFunc(code, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes
}

// Prompt is what the decoder is given before the text of a language, such as
// "en": the start, the language, the task, and that there are no timestamps.
// Models of English only have neither language nor task.
func (t *Tokenizer) Prompt(language string) ([]int32, error) {
	prompt := []int32{t.tokens[startOfTranscript]}
	if t.multi {
		id, ok := t.tokens["<|"+language+"|>"]
		if !ok {
			return nil, fmt.Errorf("the tokenizer has no language %q: it has %s", language, strings.Join(t.languages(), " "))
		}
		prompt = append(prompt, id, t.tokens[transcribe])
	}
	return append(prompt, t.tokens[noTimestamps]), nil
}

// Encode makes the labels of a text: WhisperTokenizer's ids without the first,
// the start of the transcript, which the model puts before them itself.
func (t *Tokenizer) Encode(text, language string) ([]int32, error) {
	prompt, err := t.Prompt(language)
	if err != nil {
		return nil, err
	}
	if t.maxLabel > 0 && len(text) > bytesPerToken*t.maxLabel {
		return nil, fmt.Errorf("a text of %d bytes, and the model takes %d tokens (max_target_positions): shorten it or leave it out", len(text), t.maxLabel)
	}
	if !utf8.ValidString(text) {
		return nil, errNoText
	}
	labels := append(t.encode(prompt[1:], text), t.tokens[endOfText])
	if t.maxLabel > 0 && len(labels) > t.maxLabel {
		return nil, fmt.Errorf("a text of %d tokens, and the model takes %d (max_target_positions): shorten it or leave it out", len(labels), t.maxLabel)
	}
	return labels, nil
}

// encode appends the tokens of a text in which special tokens may be spelled out.
func (t *Tokenizer) encode(ids []int32, text string) []int32 {
	plain := 0
	for i := 0; i < len(text); i++ {
		id, n := t.named(text[i:])
		if n == 0 {
			continue
		}
		ids = append(t.bpe.encode(ids, text[plain:i]), id)
		plain = i + n
		i = plain - 1
	}
	return t.bpe.encode(ids, text[plain:])
}

// named is the longest special token that the text begins with, and its length.
func (t *Tokenizer) named(text string) (id int32, n int) {
	if text[0] != '<' && t.angled {
		return 0, 0
	}
	for n := min(len(text), t.longest); n > 0; n-- {
		if id, ok := t.tokens[text[:n]]; ok {
			return id, n
		}
	}
	return 0, 0
}

// Decode is the text of ids, without special tokens and labels that do not count.
func (t *Tokenizer) Decode(ids []int32) string {
	return t.bpe.decode(slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id < 0 || id >= t.special }))
}
