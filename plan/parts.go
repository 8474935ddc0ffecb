package plan

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/melforge/melforge/corpus"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
)

// longest is the most samples of a clip, zero where nothing limits it.
func (b *builder) longest() int {
	most := 0
	if b.opts.Mel != nil {
		most = b.opts.Mel.MaxSamples()
	}
	return b.opts.Settings.Gates.MaxSamples(b.opts.Settings.Rate, most)
}

// partID names the i-th part of something, from 0.
func partID(id string, i int) string { return fmt.Sprintf("%s#%d", id, i+1) }

// parts cuts a wav that is too long. One with a text stays whole, and is
// rejected when it is made: nobody knows which words are in which part, and a
// model that is trained on a part with the words of another learns to invent.
func (b *builder) parts(it manifests.Item) []gates.Part {
	if !b.opts.Settings.SplitLong || it.Text != "" {
		return nil
	}
	parts, err := gates.Parts(it.Audio, b.opts.Settings.Rate, b.longest())
	if err != nil {
		return nil // whoever makes the clip finds out the same, and rejects it
	}
	return parts
}

// addParts adds the parts of a wav, each a clip of its own.
func (b *builder) addParts(line corpus.Line, it manifests.Item, content string, parts []gates.Part) error {
	id := it.ID
	for i, p := range parts {
		it.ID, it.Part = partID(id, i), p
		line.ID = it.ID
		it.Key = manifests.NewKey("part", soundVersion, strconv.Itoa(b.opts.Settings.Rate), content, strconv.Itoa(p.From), strconv.Itoa(p.To))
		if err := b.enter(line, it); err != nil {
			return err
		}
	}
	return nil
}

// splitText cuts a text that will be too long to speak, so that each part has
// its own words exactly. It gives the whole where that fits.
func (b *builder) splitText(ctx context.Context, line corpus.Line, text string) ([]string, error) {
	limit := float64(b.longest()) / float64(b.opts.Settings.Rate)
	if !b.opts.Settings.SplitLong || limit == 0 {
		return []string{text}, nil
	}
	pace, err := b.slowest(ctx, line)
	if err != nil {
		return nil, err
	}
	return pack(text, 0, func(s string) bool {
		_, most := gates.Units(s)
		return pace*float64(max(most, utf8.RuneCountInString(s))) <= room*limit
	}), nil
}

// room is how much of the limit the expected length may take: voices and texts
// differ from what is expected.
const room = 0.7

// slowest is the seconds a character that the slowest of the voices that may be
// drawn for a line is expected to take.
func (b *builder) slowest(ctx context.Context, line corpus.Line) (float64, error) {
	voices := b.opts.Variety.Voices
	if line.Voice != "" {
		voices = []Choice{{Voice: line.Voice}}
	}
	speed := line.Speed
	if speed == 0 {
		speed = b.opts.Variety.Speed.Low
	}
	if speed <= 0 {
		speed = 1
	}
	var pace float64
	for _, c := range voices {
		v, err := b.voice(ctx, c.Voice)
		if err != nil {
			return 0, err
		}
		pace = max(pace, v.estimate.SecondsPerChar)
	}
	return pace / speed, nil
}

// The marks after which a text may be cut, the best first: sentences, then
// clauses, then words. What is still too long is cut anywhere.
var marks = []string{".!?…。！？", ",;:—、，；：", ""}

// pack cuts a text into as few parts as fit, each as long as may be.
func pack(text string, level int, fits func(string) bool) []string {
	text = strings.TrimSpace(text)
	if text == "" || fits(text) || utf8.RuneCountInString(text) < 2 {
		return []string{text}
	}
	var out []string
	part := ""
	for _, piece := range pieces(text, level) {
		if joined := strings.TrimSpace(part + piece); part != "" && fits(joined) {
			part += piece
			continue
		}
		if part != "" {
			out = append(out, strings.TrimSpace(part))
		}
		part = piece
		if !fits(strings.TrimSpace(piece)) && level < len(marks) {
			cut := pack(piece, level+1, fits)
			out, part = append(out, cut[:len(cut)-1]...), cut[len(cut)-1]
			if strings.HasSuffix(piece, " ") {
				part += " "
			}
		}
	}
	return append(out, strings.TrimSpace(part))
}

// pieces cuts a text wherever a level allows it. Together they are the text.
func pieces(text string, level int) []string {
	if level == len(marks) {
		return strings.Split(text, "")
	}
	var out []string
	from, marked := 0, false
	for i, r := range text {
		switch {
		case strings.ContainsRune(marks[level], r):
			marked = true
		case unicode.IsSpace(r) && (marked || marks[level] == ""):
			end := i + utf8.RuneLen(r)
			out = append(out, text[from:end])
			from, marked = end, false
		case marked && (unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pf, unicode.Pi) || r == '"' || r == '\''):
			// A quotation or a bracket ends with its sentence.
		case marked && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			out = append(out, text[from:i]) // written without spaces
			from, marked = i, false
		default:
			marked = false
		}
	}
	return append(out, text[from:])
}
