package tts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxChars is the default cap on an utterance, in characters: about 30 s of
// speech, and far below what makes a neural voice run out of memory.
const MaxChars = 500

// Clean is the text front. It returns what will be spoken, and what a content
// key is made of: NFC, without control and zero-width characters, with single
// blanks between words, and with "[[" and "]]", which espeak-ng takes for
// phonemes, pulled apart. It refuses text that is not UTF-8, is empty, has
// neither letter nor digit, or is longer than maxChars characters (0:
// MaxChars). Cleaning twice is cleaning once.
func Clean(text string, maxChars int) (string, error) {
	if maxChars <= 0 {
		maxChars = MaxChars
	}
	if !utf8.ValidString(text) {
		return "", refuse(ReasonInvalidUTF8, "the text is not valid UTF-8")
	}
	// Normalising can bring together what a removed character kept apart, and
	// the reverse; squeezing again afterwards settles both.
	clean := squeeze(norm.NFC.String(squeeze(text)))
	if clean == "" {
		return "", refuse(ReasonEmpty, "nothing is left to speak")
	}
	if !strings.ContainsFunc(clean, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", refuse(ReasonNoLetters, "neither a letter nor a digit in %.40q", clean)
	}
	if n := utf8.RuneCountInString(clean); n > maxChars {
		return "", refuse(ReasonTooLong, "%d characters, the limit is %d", n, maxChars)
	}
	return clean, nil
}

// squeeze drops invisible characters, joins white space, and parts brackets.
func squeeze(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	blank := false
	last := rune(0)
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blank = b.Len() > 0
			continue
		case unicode.In(r, unicode.Cc, unicode.Cf):
			continue
		case r == last && (r == '[' || r == ']'):
			blank = true
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}
