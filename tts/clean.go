package tts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxChars is the default cap on an utterance, in characters. Longer ones than
// PartChars are spoken in parts, so the cap is on patience, not on memory.
const MaxChars = 2000

// maxRounds is how often markup may hide markup ("&amp;lt;b&amp;gt;").
const maxRounds = 4

// Clean is the text front. It returns what will be spoken, and what a content
// key is made of: NFC, without markup, without control and zero-width
// characters (but for the joiners that Arabic and Indic spelling needs), with
// single blanks between words, with "[[" and "]]", which espeak-ng takes for
// phonemes, pulled apart, and with endless numbers spelled digit by digit. It
// refuses text that is not UTF-8, is empty, has neither letter nor digit, or is
// longer than maxChars characters (0: MaxChars). Cleaning twice is cleaning
// once.
func Clean(text string, maxChars int) (string, error) {
	if maxChars <= 0 {
		maxChars = MaxChars
	}
	if !utf8.ValidString(text) {
		return "", refuse(ReasonInvalidUTF8, "the text is not valid UTF-8")
	}
	clean, ok := settle(text)
	if !ok {
		return "", refuse(ReasonMarkup, "markup within markup, %d deep, in %.40q", maxRounds, text)
	}
	if clean == "" {
		return "", refuse(ReasonEmpty, "nothing is left to speak")
	}
	if !speakable(clean) {
		return "", refuse(ReasonNoLetters, "neither a letter nor a digit in %.40q", clean)
	}
	if n := utf8.RuneCountInString(clean); n > maxChars {
		return "", refuse(ReasonTooLong, "%d characters, the limit is %d", n, maxChars)
	}
	return clean, nil
}

func speakable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// settle cleans until nothing changes any more, so that its result is its own.
func settle(text string) (clean string, ok bool) {
	clean = normal(text)
	for range maxRounds {
		next := spellNumbers(stripMarkup(clean))
		if next == clean {
			return clean, true
		}
		clean = normal(next)
	}
	return clean, spellNumbers(stripMarkup(clean)) == clean
}

// normal normalises and squeezes. Normalising can bring together what a
// removed character kept apart, and the reverse; squeezing again afterwards
// settles both.
func normal(text string) string { return squeeze(norm.NFC.String(squeeze(text))) }

// squeeze drops invisible characters, joins white space, and parts brackets.
func squeeze(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	var last, base, joiner rune // base is last without marks
	blank := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blank, joiner = b.Len() > 0, 0
			continue
		case r == zwj || r == zwnj:
			if joiner == 0 {
				joiner = r
			}
			continue
		case invisible(r):
			continue
		case r == last && (r == '[' || r == ']'):
			blank = true
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		} else if joiner != 0 && joins(base) && joins(r) {
			b.WriteRune(joiner)
		}
		joiner = 0
		b.WriteRune(r)
		last = r
		if !unicode.Is(unicode.Mn, r) {
			base = r
		}
	}
	return b.String()
}

// invisible characters are controls, formats, and what no script owns.
func invisible(r rune) bool {
	if r < 0x7f {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Noncharacter_Code_Point)
}

const (
	zwnj = '\u200c'
	zwj  = '\u200d'
)

// joins reports whether a zero-width joiner beside r is spelling: it changes
// the letters' form, and in Persian and Hindi the word.
func joins(r rune) bool {
	return r >= 0x600 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// maxDigits is the longest number that is left to the voice. Neural voices lose
// most of a longer one.
const maxDigits = 20

// spellNumbers puts blanks between the digits of endless numbers.
func spellNumbers(text string) string {
	var b strings.Builder
	done, start, digits := 0, 0, 0
	flush := func(end int) {
		if digits > maxDigits {
			b.WriteString(text[done:start])
			for i, r := range text[start:end] {
				if i > 0 {
					b.WriteByte(' ')
				}
				b.WriteRune(r)
			}
			done = end
		}
		digits = 0
	}
	for i, r := range text {
		if !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if digits == 0 {
			start = i
		}
		digits++
	}
	flush(len(text))
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}
