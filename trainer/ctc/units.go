package ctc

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/melforge/melforge/internal/score"
)

// Kind is what a model writes: letters or whole words.
type Kind string

// The kinds of units.
const (
	Characters Kind = "characters"
	Words      Kind = "words"
)

// Units are the classes of a model: class 0 is Blank, class i+1 is List[i].
type Units struct {
	Kind Kind     `json:"kind"`
	List []string `json:"units"`

	index map[string]int32
}

// NewUnits collects the units of texts, normalised as scores are.
func NewUnits(kind Kind, texts []string) (*Units, error) {
	if kind != Characters && kind != Words {
		return nil, fmt.Errorf("unknown units %q: use %s or %s", kind, Characters, Words)
	}
	u := &Units{Kind: kind}
	seen := map[string]bool{}
	for _, t := range texts {
		for _, unit := range u.split(t) {
			seen[unit] = true
		}
	}
	for unit := range seen {
		u.List = append(u.List, unit)
	}
	if len(u.List) == 0 {
		return nil, fmt.Errorf("none of the %d texts has a letter or a digit", len(texts))
	}
	slices.Sort(u.List)
	u.number()
	return u, nil
}

// number makes the index of a list.
func (u *Units) number() {
	u.index = make(map[string]int32, len(u.List))
	for i, unit := range u.List {
		u.index[unit] = int32(i + 1)
	}
}

// Classes is the number of classes, Blank among them.
func (u *Units) Classes() int { return len(u.List) + 1 }

// Encode gives the classes of a text. A unit that the model does not know is
// an error.
func (u *Units) Encode(text string) ([]int32, error) {
	if u.index == nil {
		u.number()
	}
	units := u.split(text)
	classes := make([]int32, len(units))
	for i, unit := range units {
		c, ok := u.index[unit]
		if !ok {
			return nil, fmt.Errorf("%q is not among the model's %d %s", unit, len(u.List), u.Kind)
		}
		classes[i] = c
	}
	return classes, nil
}

// Decode is the text of classes that Collapse gave.
func (u *Units) Decode(classes []int32) string {
	separator := ""
	if u.Kind == Words {
		separator = " "
	}
	parts := make([]string, 0, len(classes))
	for _, c := range classes {
		if c > 0 && int(c) <= len(u.List) {
			parts = append(parts, u.List[c-1])
		}
	}
	return strings.Join(parts, separator)
}

func (u *Units) split(text string) []string {
	if u.Kind == Words {
		return score.Words(text)
	}
	text = score.Normalize(text)
	out := make([]string, 0, utf8.RuneCountInString(text))
	for _, r := range text {
		out = append(out, string(r))
	}
	return out
}

// Collapse turns the best class of every frame into classes: repeats are one,
// blanks are none.
func Collapse(path []int32) []int32 {
	var out []int32
	last := int32(Blank)
	for _, c := range path {
		if c != last && c != Blank {
			out = append(out, c)
		}
		last = c
	}
	return out
}

// Needs is the number of frames that labels need at least: one each, and a
// blank between equal neighbours.
func Needs(labels []int32) int {
	n := len(labels)
	for i := 1; i < len(labels); i++ {
		if labels[i] == labels[i-1] {
			n++
		}
	}
	return n
}
