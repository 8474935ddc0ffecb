package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bpe is a byte-level byte pair encoding, GPT-2's and Whisper's: a text is cut
// into words, each byte of a word is a token, and neighbours are merged in the
// order of the merges' ranks.
type bpe struct {
	bytes  [256]int32
	merges map[[2]int32]merge
	pieces map[int32]string // the bytes of each token
}

type merge struct{ rank, token int32 }

// bpeJSON is the model of a tokenizer.json.
type bpeJSON struct {
	Type         string           `json:"type"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []pairJSON       `json:"merges"`
	IgnoreMerges bool             `json:"ignore_merges"`
	ByteFallback bool             `json:"byte_fallback"`
	Prefix       string           `json:"continuing_subword_prefix"`
	Suffix       string           `json:"end_of_word_suffix"`
}

// pairJSON is written as "a b" by old versions and as ["a", "b"] by new ones.
type pairJSON [2]string

func (p *pairJSON) UnmarshalJSON(data []byte) error {
	var line string
	if json.Unmarshal(data, &line) == nil {
		a, b, ok := strings.Cut(line, " ")
		if !ok {
			return fmt.Errorf("the merge %q is no pair", line)
		}
		*p = pairJSON{a, b}
		return nil
	}
	var pair []string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("the merge %q is no pair", pair)
	}
	*p = pairJSON(pair)
	return nil
}

func newBPE(file bpeJSON) (*bpe, error) {
	if file.Type != "BPE" || file.IgnoreMerges || file.ByteFallback || file.Prefix != "" || file.Suffix != "" {
		return nil, fmt.Errorf("a tokenizer of type %q, or with options that Whisper's has not", file.Type)
	}
	e := &bpe{merges: make(map[[2]int32]merge, len(file.Merges)), pieces: make(map[int32]string, len(file.Vocab))}
	letters := byteLetters()
	for b, letter := range letters {
		id, ok := file.Vocab[string(letter)]
		if !ok {
			return nil, fmt.Errorf("the byte %d has no token", b)
		}
		e.bytes[b] = id
	}
	back := make(map[rune]byte, len(letters))
	for b, letter := range letters {
		back[letter] = byte(b)
	}
	for name, id := range file.Vocab {
		e.pieces[id] = spelled(name, back)
	}
	for rank, pair := range file.Merges {
		a, okA := file.Vocab[pair[0]]
		b, okB := file.Vocab[pair[1]]
		token, ok := file.Vocab[pair[0]+pair[1]]
		if !okA || !okB || !ok {
			return nil, fmt.Errorf("the merge of %q and %q is not in the vocabulary", pair[0], pair[1])
		}
		if _, twice := e.merges[[2]int32{a, b}]; !twice {
			e.merges[[2]int32{a, b}] = merge{int32(rank), token}
		}
	}
	return e, nil
}

// byteLetters are the letters that stand for bytes in a vocabulary: printable
// bytes for themselves, the others for letters from U+0100 on.
func byteLetters() [256]rune {
	var letters [256]rune
	next := rune(256)
	for b := range rune(256) {
		switch {
		case b >= '!' && b <= '~', b >= 0xA1 && b <= 0xAC, b >= 0xAE:
			letters[b] = b
		default:
			letters[b] = next
			next++
		}
	}
	return letters
}

// spelled is the bytes of a token's name; what stands for no byte is kept.
func spelled(name string, back map[rune]byte) string {
	out := make([]byte, 0, len(name))
	for _, letter := range name {
		if b, ok := back[letter]; ok {
			out = append(out, b)
		} else {
			out = utf8.AppendRune(out, letter)
		}
	}
	return string(out)
}

// encode appends the tokens of a text.
func (e *bpe) encode(ids []int32, text string) []int32 {
	for text != "" {
		n := wordEnd(text)
		ids = e.word(ids, text[:n])
		text = text[n:]
	}
	return ids
}

func (e *bpe) word(ids []int32, word string) []int32 {
	parts := make([]int32, len(word))
	for i := range len(word) {
		parts[i] = e.bytes[word[i]]
	}
	for len(parts) > 1 {
		at, best := -1, merge{}
		for i := range len(parts) - 1 {
			if m, ok := e.merges[[2]int32{parts[i], parts[i+1]}]; ok && (at < 0 || m.rank < best.rank) {
				at, best = i, m
			}
		}
		if at < 0 {
			break
		}
		parts[at] = best.token
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	return append(ids, parts...)
}

// decode is the text of tokens. Bytes that are no UTF-8 become U+FFFD.
func (e *bpe) decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(e.pieces[id])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

var errNoText = errors.New("the text is not UTF-8")

// wordEnd is the length of the first word of a text that is not empty: the
// first match of GPT-2's expression
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func wordEnd(text string) int {
	for _, suffix := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(text, suffix) {
			return len(suffix)
		}
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	for _, kind := range []func(rune) bool{unicode.IsLetter, unicode.IsNumber, isOther} {
		if n := run(text[start:], kind); n > 0 {
			return start + n
		}
	}
	n := run(text, isSpace)
	if n < len(text) { // the last space belongs to the word after it, unless it is alone
		if _, last := utf8.DecodeLastRuneInString(text[:n]); last < n {
			n -= last
		}
	}
	return n
}

// run is the number of bytes at the start of text whose letters are of a kind.
func run(text string, kind func(rune) bool) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !kind(r) }); n >= 0 {
		return n
	}
	return len(text)
}

func isSpace(r rune) bool { return unicode.Is(unicode.White_Space, r) }

func isOther(r rune) bool { return !isSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
