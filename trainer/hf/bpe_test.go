package hf

import (
	"regexp"
	"testing"
	"unicode/utf8"
)

// Go's \s is ASCII's, and Go has no lookahead: the class is spelled out, and a
// run of spaces before a word gives its last one up by hand.
const spaces = `\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}`

var slowWord = regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^` + spaces + `\p{L}\p{N}]+)`)
var slowSpace = regexp.MustCompile(`^[` + spaces + `]+`)

func slowWordEnd(text string) int {
	if word := slowWord.FindString(text); word != "" {
		return len(word)
	}
	space := slowSpace.FindString(text)
	if _, last := utf8.DecodeLastRuneInString(space); len(space) < len(text) && last < len(space) {
		return len(space) - last
	}
	return len(space)
}

func FuzzWordEnd(f *testing.F) {
	for _, text := range []string{"it's", " 's", "a  b", "  ", "\u00a0\u3000x", ".'s", "x²½Ⅷ٣", "👩‍👩 e\u0301", "we'll'LL", "\t\n a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		for text != "" {
			got, want := wordEnd(text), slowWordEnd(text)
			if got != want || got == 0 {
				t.Fatalf("%q: a word of %d bytes, want %d", text, got, want)
			}
			text = text[got:]
		}
	})
}
