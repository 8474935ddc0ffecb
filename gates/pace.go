package gates

import (
	"strings"
	"unicode"
)

// wordy is how many letters a character counts for that is spoken as a
// syllable or a word: a digit, a symbol, an ideograph. Three letters may take
// 1.05 s by default; digits were measured to take up to 0.55 s at a usual pace.
const wordy = 3

// spokenMarks are punctuation to Unicode, and words to a voice.
const spokenMarks = "%‰&@#§*"

// Units counts what is spoken of a text. Spaces, punctuation and combining
// marks do not count. The least counts one for every other character, since
// "1,000,000" is soon said; the most counts several for each digit, symbol and
// character of the scripts that write syllables or words.
func Units(text string) (least, most int) {
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul),
			unicode.IsNumber(r), unicode.IsSymbol(r), strings.ContainsRune(spokenMarks, r):
			least, most = least+1, most+wordy
		case unicode.IsLetter(r):
			least, most = least+1, most+1
		}
	}
	return least, most
}

// spread returns the shortest and the longest time that speaking text may take.
func (c Config) spread(text string) (shortest, longest float64) {
	least, most := Units(text)
	shortest = float64(least) * c.MinSecondsPerChar
	longest = float64(most)*c.MaxSecondsPerChar + c.PaceAllowance
	return shortest, longest
}
