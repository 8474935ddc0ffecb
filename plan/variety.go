package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/melforge/melforge/manifests"
)

// Variety says how many utterances a line becomes and what is drawn for each.
// A draw depends on the seed, the line's id and the variant's number, never on
// the order of lines or on who works: the same line is always spoken the same.
type Variety struct {
	// Voices are those for lines that name none, each with its weight.
	Voices []Choice
	// Variants is how many utterances a line becomes, at least 1.
	Variants int
	// Speed and Pitch are for lines that do not say.
	Speed, Pitch Range
}

// Choice is a voice with its weight.
type Choice struct {
	Voice  string
	Weight float64
}

// ParseChoices reads "a,b=2,c": voices with their weights, 1 where none is given.
func ParseChoices(s string) ([]Choice, error) {
	var out []Choice
	for part := range strings.SplitSeq(s, ",") {
		name, weight, given := strings.Cut(strings.TrimSpace(part), "=")
		c := Choice{Voice: name, Weight: 1}
		if given {
			w, err := strconv.ParseFloat(weight, 64)
			if err != nil || !(w > 0) || math.IsInf(w, 0) {
				return nil, fmt.Errorf("%q: want VOICE=WEIGHT with a weight above 0", part)
			}
			c.Weight = w
		}
		if name == "" {
			return nil, fmt.Errorf("%q: a voice without a name", s)
		}
		out = append(out, c)
	}
	return out, nil
}

// Range is a pair of bounds; equal ones mean a fixed value.
type Range struct{ Low, High float64 }

// ParseRange reads "1" or "0.9:1.1".
func ParseRange(s string) (Range, error) {
	low, high, two := strings.Cut(s, ":")
	if !two {
		high = low
	}
	a, errA := strconv.ParseFloat(strings.TrimSpace(low), 64)
	b, errB := strconv.ParseFloat(strings.TrimSpace(high), 64)
	if errA != nil || errB != nil || !(a <= b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return Range{}, fmt.Errorf("%q: want a number, or LOW:HIGH as in 0.9:1.1", s)
	}
	return Range{a, b}, nil
}

// String is what ParseRange reads.
func (r Range) String() string {
	if r.Low == r.High {
		return number(r.Low)
	}
	return number(r.Low) + ":" + number(r.High)
}

// Same reports whether every variant of a line would be the same utterance.
func (v Variety) Same() bool {
	return len(v.Voices) < 2 && v.Speed.Low == v.Speed.High && v.Pitch.Low == v.Pitch.High &&
		!(len(v.Voices) == 1 && strings.HasSuffix(v.Voices[0].Voice, ":*"))
}

// draws are the random numbers of one utterance.
type draws struct{ r *rand.Rand }

func newDraws(seed int64, id string, variant int) draws {
	k := manifests.NewKey("draw", strconv.FormatInt(seed, 10), id, strconv.Itoa(variant))
	return draws{rand.New(rand.NewPCG(binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])))}
}

// voice draws one by weight. It always takes one number, so that what is drawn
// after it does not depend on how many voices there are.
func (d draws) voice(choices []Choice) string {
	at := d.r.Float64()
	sum := 0.0
	for _, c := range choices {
		sum += c.Weight
	}
	at *= sum
	for _, c := range choices {
		if at -= c.Weight; at < 0 {
			return c.Voice
		}
	}
	return choices[len(choices)-1].Voice
}

// speaker draws one of n.
func (d draws) speaker(n int) int { return int(d.r.Float64() * float64(n)) }

// within draws from a range and rounds to three digits, so that manifests are
// read and typed easily.
func (d draws) within(r Range) float64 {
	x := r.Low + d.r.Float64()*(r.High-r.Low)
	if r.Low == r.High {
		return r.Low
	}
	return math.Round(x*1000) / 1000
}
