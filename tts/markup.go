package tts

import (
	"html"
	"regexp"
	"strings"
)

var (
	// A tag has a name and perhaps attributes with values: "a <b and c> d" is
	// no tag. White space is single blanks by now.
	markupTag     = regexp.MustCompile(`</?([A-Za-z][A-Za-z0-9-]*)(?: [A-Za-z_:@][A-Za-z0-9_:.-]* ?= ?(?:"[^"<>]*"|'[^'<>]*'|[^ "'<>=]+))* ?/?>`)
	markupComment = regexp.MustCompile(`<!--.*?-->`)
	markupEntity  = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
)

// inlineTags may stand within a word and leave nothing behind; blockTags part
// words.
const (
	inlineTags = " a abbr acronym b bdi bdo big cite code dfn em emphasis font i ins kbd lang mark phoneme prosody q rp rt ruby " +
		"s samp say-as small span strike strong sub sup token tt u var voice w wbr "
	blockTags = " article aside audio blockquote body br break button center dd desc div dl dt figcaption figure footer form " +
		"h1 h2 h3 h4 h5 h6 head header hr html img input label li link main meta metadata nav object ol option p pre " +
		"script section select speak style svg table tbody td tfoot th thead title tr ul video "
)

// stripMarkup drops the tags of HTML and SSML and resolves character
// references. Angle brackets around anything else stay: they may be the text.
func stripMarkup(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	text = markupComment.ReplaceAllString(text, " ")
	text = markupTag.ReplaceAllStringFunc(text, func(tag string) string {
		name := strings.ToLower(strings.TrimLeft(tag, "</"))
		name = " " + name[:strings.IndexAny(name, " />")] + " "
		switch {
		case strings.Contains(inlineTags, name):
			return ""
		case strings.Contains(blockTags, name):
			return " "
		}
		return tag
	})
	return markupEntity.ReplaceAllStringFunc(text, html.UnescapeString)
}
