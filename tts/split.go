package tts

import (
	"slices"
	"strings"
	"unicode"
)

// PartChars is the default cap on what is given to an engine in one go. The
// memory of a neural voice grows with it.
const PartChars = 400

// Part is a piece of a long text.
type Part struct {
	Text  string
	Pause float64 // seconds of silence until the next part, 0 for the last
}

// The silences between parts, as a reader makes them.
const (
	sentencePause = 0.35
	clausePause   = 0.18
	wordPause     = 0.04
)

// Split cuts a clean text into parts of at most maxChars characters (0:
// PartChars): at the last sentence end that fits, or else the last clause, or
// else the last blank, or else, in a word without end, between letters. What
// has neither letter nor digit is left out, since it cannot be spoken alone.
func Split(text string, maxChars int) []Part {
	if maxChars <= 0 {
		maxChars = PartChars
	}
	if len(text) <= maxChars {
		return []Part{{Text: text}}
	}
	var parts []Part
	rest := []rune(text)
	for len(rest) > 0 {
		end, pause := len(rest), 0.0
		if end > maxChars {
			end, pause = cut(rest, maxChars)
		}
		part := strings.TrimSpace(string(rest[:end]))
		rest = rest[end:]
		switch {
		case speakable(part):
			parts = append(parts, Part{part, pause})
		case len(parts) > 0:
			parts[len(parts)-1].Pause = sentencePause
		}
	}
	if len(parts) == 0 {
		return []Part{{Text: text}}
	}
	parts[len(parts)-1].Pause = 0
	return parts
}

// cut returns where a part of at most limit characters ends, and the pause
// there. There are more characters than that.
func cut(text []rune, limit int) (end int, pause float64) {
	clause, word := 0, 0
	for i := limit; i > 0; i-- {
		switch after := boundary(text, i); {
		case after == sentencePause:
			return i, after
		case after == clausePause && clause == 0:
			clause = i
		case after == wordPause && word == 0:
			word = i
		}
	}
	switch {
	case clause > 0:
		return clause, clausePause
	case word > 0:
		return word, wordPause
	}
	// Not between a letter and its marks, unless there is nothing else.
	for i := limit; i > 1; i-- {
		if !unicode.In(text[i], unicode.M, unicode.Cf) && !unicode.Is(unicode.Cf, text[i-1]) {
			return i, 0
		}
	}
	return limit, 0
}

const (
	sentenceEnds = ".!?…؟۔।॥։።"
	clauseEnds   = ",;:—–،؛"
	fullWidth    = "。！？｡" // no blank follows these
	fullClauses  = "、，；："
	closers      = "\"'”’»)]}」』）"
)

// boundary is the pause that a reader makes before text[i], 0 for none.
func boundary(text []rune, i int) float64 {
	end := i // of what comes before, without what closes it
	for end > 0 && strings.ContainsRune(closers, text[end-1]) {
		end--
	}
	if end == 0 || strings.ContainsRune(closers, text[i]) {
		return 0
	}
	last := text[end-1]
	switch {
	case strings.ContainsRune(fullWidth, last) && !strings.ContainsRune(fullWidth, text[i]):
		return sentencePause
	case strings.ContainsRune(fullClauses, last):
		return clausePause
	case text[i] != ' ':
		return 0
	case strings.ContainsRune(sentenceEnds, last) && !(last == '.' && abbreviated(text, end-1, i)):
		return sentencePause
	case strings.ContainsRune(clauseEnds, last):
		return clausePause
	}
	return wordPause
}

// abbreviated reports whether the full stop at dot ends a word rather than a
// sentence: after an initial or a title, or before a small letter at next+1.
func abbreviated(text []rune, dot, next int) bool {
	if next+1 < len(text) && unicode.IsLower(text[next+1]) {
		return true
	}
	start := dot
	for start > 0 && (unicode.IsLetter(text[start-1]) || text[start-1] == '.') {
		start--
	}
	word := text[start:dot]
	if len(word) == 1 && unicode.IsUpper(word[0]) {
		return true
	}
	return slices.Contains(abbreviations, strings.ToLower(string(word)))
}

var abbreviations = []string{"mr", "mrs", "ms", "dr", "prof", "st", "rev", "gen", "col", "capt", "lt", "sgt", "hon", "messrs", "vs", "no", "vol", "fig", "e.g", "i.e", "cf", "hr", "fr", "mme", "mlle", "sr", "sra", "bzw", "z.b", "d.h"}
