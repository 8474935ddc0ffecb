package tts

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Lexicon says how to read words that a voice gets wrong: a word, and the words
// to read instead, or its phonemes. The zero Lexicon changes nothing.
type Lexicon struct {
	entries map[rune][]entry // by their first letter, the longest first
	hash    string
}

type entry struct {
	word     []rune // folded
	replace  string
	phonemes bool // replace is espeak's phonemes
}

// phonemes are what espeak takes between double brackets: its mnemonics and
// stress marks, nothing that could end the brackets or a clause.
var phonemes = regexp.MustCompile(`^[A-Za-z0-9@&?!'",:;=_|~^%*#+-]{1,100}$`)

// ReadLexicon reads a lexicon from a file. See ParseLexicon.
func ReadLexicon(path string) (Lexicon, error) {
	f, err := os.Open(path)
	if err != nil {
		return Lexicon{}, err
	}
	defer f.Close()
	l, err := ParseLexicon(f)
	if err != nil {
		return Lexicon{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// ParseLexicon reads lines of a word, a tab, and what to read instead: words,
// or espeak's phonemes between slashes, as in "/h@l'oU/". A word may hold
// blanks and signs ("AT&T"). Empty lines and lines that begin with "#"
// are skipped.
func ParseLexicon(r io.Reader) (Lexicon, error) {
	l := Lexicon{entries: make(map[rune][]entry)}
	lines := make(map[string]int)
	var canonical []string
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimPrefix(strings.TrimRight(scan.Text(), "\r"), "\ufeff")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return Lexicon{}, fmt.Errorf("line %d: %w", n, err)
		}
		word := string(e.word)
		if first := lines[word]; first > 0 {
			return Lexicon{}, fmt.Errorf("line %d: %q is on line %d already", n, word, first)
		}
		lines[word] = n
		l.entries[e.word[0]] = append(l.entries[e.word[0]], e)
		canonical = append(canonical, fmt.Sprintf("%s\t%s\t%t\n", word, e.replace, e.phonemes))
	}
	if err := scan.Err(); err != nil {
		return Lexicon{}, err
	}
	for _, same := range l.entries {
		slices.SortFunc(same, func(a, b entry) int { return cmp.Compare(len(b.word), len(a.word)) })
	}
	if len(canonical) > 0 {
		slices.Sort(canonical)
		sum := sha256.Sum256([]byte(strings.Join(canonical, "")))
		l.hash = hex.EncodeToString(sum[:])
	}
	return l, nil
}

func parseEntry(line string) (entry, error) {
	if !utf8.ValidString(line) {
		return entry{}, errors.New("not valid UTF-8")
	}
	word, replace, ok := strings.Cut(norm.NFC.String(line), "\t")
	word, replace = strings.Join(strings.Fields(word), " "), strings.Join(strings.Fields(replace), " ")
	switch {
	case !ok || word == "" || replace == "":
		return entry{}, fmt.Errorf("want a word, a tab, and what to read instead, not %.60q", line)
	}
	inner, slash := strings.CutPrefix(replace, "/")
	inner, end := strings.CutSuffix(inner, "/")
	if !slash || !end {
		return entry{word: fold(word), replace: replace}, nil
	}
	if !phonemes.MatchString(inner) {
		return entry{}, fmt.Errorf("%s are no phonemes of espeak: want them as espeak-ng -x prints them", replace)
	}
	return entry{word: fold(word), replace: inner, phonemes: true}, nil
}

// Hash names the lexicon's content for a cache key: "" if it is empty, and the
// same whatever the order of the lines.
func (l Lexicon) Hash() string { return l.hash }

// Apply returns the text with every word of the lexicon that has other words
// replaced by them, whatever its case. Words match whole, the longest first;
// replacements are not looked at again. It comes before Clean.
func (l Lexicon) Apply(text string) string {
	return l.each(text, func(e entry) (string, bool) { return e.replace, !e.phonemes })
}

// Phonemes returns the text with every word of the lexicon that has phonemes
// replaced by them, in the double brackets that only espeak's voices
// understand. It comes after Clean, which would take the brackets for an attack.
func (l Lexicon) Phonemes(text string) string {
	return l.each(text, func(e entry) (string, bool) { return "[[" + e.replace + "]]", e.phonemes })
}

// each replaces the words for which read gives something.
func (l Lexicon) each(text string, read func(entry) (string, bool)) string {
	if len(l.entries) == 0 || !utf8.ValidString(text) {
		return text
	}
	text = norm.NFC.String(text)
	runes, folded := []rune(text), fold(text)
	var b strings.Builder
	for i := 0; i < len(runes); {
		e, ok := l.match(folded, i)
		if !ok {
			b.WriteRune(runes[i])
			i++
			continue
		}
		if with, ok := read(e); ok {
			b.WriteString(with)
		} else {
			b.WriteString(string(runes[i : i+len(e.word)]))
		}
		i += len(e.word)
	}
	return b.String()
}

// match finds the longest entry that is at i, from word boundary to boundary.
func (l Lexicon) match(text []rune, i int) (entry, bool) {
	if i > 0 && inWord(text[i-1]) && inWord(text[i]) {
		return entry{}, false
	}
	for _, e := range l.entries[text[i]] {
		end := i + len(e.word)
		if end > len(text) || !slices.Equal(text[i:end], e.word) {
			continue
		}
		if end == len(text) || !inWord(text[end]) || !inWord(text[end-1]) && !unicode.Is(unicode.M, text[end]) {
			return e, true
		}
	}
	return entry{}, false
}

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd) }

// fold makes letters small one by one, so that places stay what they were.
func fold(s string) []rune {
	runes := []rune(s)
	for i, r := range runes {
		runes[i] = unicode.ToLower(r)
	}
	return runes
}
