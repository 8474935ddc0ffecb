package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// The names that a column or field may have, the preferred one first.
var (
	textNames  = []string{"text", "sentence", "transcript"}
	langNames  = []string{"lang", "locale", "language"}
	audioNames = []string{"audio_filepath", "path", "audio", "file", "wav"}
)

func isTextName(name string) bool { return slices.Contains(textNames, name) }

// columnName is the spelling by which a column is known. Quotes may be left in
// a header that has blanks after its commas.
func columnName(s string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(s), `"`))
}

// columns says where in a row each part of a Line is, -1 being nowhere.
type columns struct {
	names                                      []string
	text, id, lang, voice, speed, pitch, audio int
}

// newColumns understands a header. separator is what it was split by, for the
// error that there is no text in it.
func newColumns(header []string, separator string) (*columns, error) {
	names := make([]string, len(header))
	for i, h := range header {
		names[i] = columnName(h)
	}
	find := func(wanted ...string) int {
		for _, w := range wanted {
			if i := slices.Index(names, w); i >= 0 {
				return i
			}
		}
		return -1
	}
	c := &columns{
		names: names,
		text:  find(textNames...), id: find("id"),
		lang: find(langNames...), voice: find("voice"),
		speed: find("speed"), pitch: find("pitch"),
		audio: find(audioNames...),
	}
	if c.text < 0 {
		return nil, noText(header, separator)
	}
	return c, nil
}

// noText says what was found instead of a text column, and what to do.
func noText(header []string, separator string) error {
	found := make([]string, len(header))
	for i, h := range header {
		found[i] = fmt.Sprintf("%.40q", h)
	}
	const shown = 20
	if len(found) > shown {
		found = append(found[:shown], "...")
	}
	advice := "name one of the columns text"
	line := strings.Join(header, separator)
	switch {
	case separator != "\t" && hasText(line, "\t"):
		advice = "the columns are separated by tabs, use --format tsv"
	case separator != "," && hasText(line, ","):
		advice = "the columns are separated by commas, use --format csv"
	case hasText(line, ";"):
		advice = "the columns are separated by ';', save the file with commas"
	case slices.ContainsFunc(header, isProse):
		advice = "if the file is plain text, a text a line, use --format txt"
	}
	return fmt.Errorf("the header has no column %s (found: %s): %s",
		strings.Join(textNames, ", "), strings.Join(found, ", "), advice)
}

// isProse reports whether a header field reads like a sentence.
func isProse(field string) bool { return len(strings.Fields(field)) > 3 }

// line makes a Line of a row.
func (c *columns) line(row []string) (Line, error) {
	if len(row) != len(c.names) {
		return Line{}, reject(FieldCount, "%d fields, the header has %d", len(row), len(c.names))
	}
	at := func(i int) string {
		if i < 0 {
			return ""
		}
		return strings.TrimSpace(row[i])
	}
	l := Line{ID: at(c.id), Text: at(c.text), Lang: at(c.lang), Voice: at(c.voice), Audio: at(c.audio)}
	err := l.setNumbers(at(c.speed), at(c.pitch))
	return l, err
}

// require is the place of a column without which a format makes no sense.
func (c *columns) require(name string) (int, error) {
	i := slices.Index(c.names, name)
	if i < 0 {
		return 0, fmt.Errorf("the header has no column %s: is this really Common Voice? Try --format tsv", name)
	}
	return i, nil
}
