// Package score compares transcripts with what was said: edit distances, word
// and character error rates.
package score

import (
	"strings"
	"unicode"
)

// Distance is Levenshtein's: how many elements must be inserted, deleted or
// changed to make b of a.
func Distance[T comparable](a, b []T) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Normalize is the text as it is compared: lower case, letters, digits and
// apostrophes inside of words, one blank between words.
func Normalize(text string) string { return strings.Join(Words(text), " ") }

// Words are those of the normalised text.
func Words(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
	})
	words := fields[:0]
	for _, f := range fields {
		if f = strings.Trim(strings.ReplaceAll(f, "’", "'"), "'"); f != "" {
			words = append(words, f)
		}
	}
	return words
}

// Tally sums up the errors of many transcripts. Its zero value is empty.
type Tally struct {
	Clips      int `json:"clips"`
	Exact      int `json:"exact"` // transcripts without an error
	Words      int `json:"words"`
	WordErrors int `json:"word_errors"`
	Chars      int `json:"characters"`
	CharErrors int `json:"character_errors"`
}

// Add counts one transcript against its reference, both normalised.
func (t *Tally) Add(reference, transcript string) {
	want, got := Words(reference), Words(transcript)
	errors := Distance(want, got)
	wantChars, gotChars := []rune(strings.Join(want, " ")), []rune(strings.Join(got, " "))
	t.Clips++
	t.Words += len(want)
	t.WordErrors += errors
	t.Chars += len(wantChars)
	t.CharErrors += Distance(wantChars, gotChars)
	if errors == 0 {
		t.Exact++
	}
}

// WER is the word error rate over everything added: errors for each word that
// was said. It is 0 where nothing was said and nothing heard, and 1 where
// nothing was said and something heard.
func (t Tally) WER() float64 { return rate(t.WordErrors, t.Words) }

// CER is the same for characters.
func (t Tally) CER() float64 { return rate(t.CharErrors, t.Chars) }

// ExactShare is the part of the transcripts without an error, 0 of none.
func (t Tally) ExactShare() float64 {
	if t.Clips == 0 {
		return 0
	}
	return float64(t.Exact) / float64(t.Clips)
}

func rate(errors, of int) float64 {
	if of == 0 {
		return min(float64(errors), 1)
	}
	return float64(errors) / float64(of)
}
