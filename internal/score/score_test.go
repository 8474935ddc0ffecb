package score

import (
	"math"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3},
		{"flaw", "lawn", 2}, {"same", "same", 0}, {"ab", "ba", 2}, {"intention", "execution", 5},
	} {
		if got := Distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// slow is the definition of the distance, for short inputs.
func slow(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	if a[0] == b[0] {
		return slow(a[1:], b[1:])
	}
	return 1 + min(slow(a[1:], b), slow(a, b[1:]), slow(a[1:], b[1:]))
}

func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = a[:min(len(a), 7)], b[:min(len(b), 7)]
		if got, want := Distance([]byte(a), []byte(b)), slow(a, b); got != want {
			t.Errorf("Distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"Hello,  World!":       "hello world",
		"don’t 'quote' me":     "don't quote me",
		" -- ":                 "",
		"Zwölf Boxkämpfer 42.": "zwölf boxkämpfer 42",
		"नमस्ते दुनिया":        "नमस्ते दुनिया",
	} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("Don't, 'quote' me.")
	f.Add("İstanbul ’’'")
	f.Fuzz(func(t *testing.T, text string) {
		once := Normalize(text)
		if strings.Contains(once, "  ") || strings.TrimSpace(once) != once {
			t.Errorf("Normalize(%q) = %q has stray blanks", text, once)
		}
		if twice := Normalize(once); twice != once {
			t.Errorf("Normalize(%q) = %q, and again %q", text, once, twice)
		}
	})
}

func TestTally(t *testing.T) {
	var y Tally
	if y.WER() != 0 || y.CER() != 0 || y.ExactShare() != 0 {
		t.Errorf("empty: %v %v %v", y.WER(), y.CER(), y.ExactShare())
	}
	y.Add("The cat sat.", "the cat sat")
	y.Add("one two three", "one too")
	if y.Clips != 2 || y.Exact != 1 || y.Words != 6 || y.WordErrors != 2 {
		t.Errorf("counted %+v", y)
	}
	if got, want := y.WER(), 2.0/6; math.Abs(got-want) > 1e-12 {
		t.Errorf("WER %v, want %v", got, want)
	}
	if got, want := y.CER(), float64(1+6)/float64(11+13); math.Abs(got-want) > 1e-12 {
		t.Errorf("CER %v, want %v", got, want)
	}
	var silence Tally
	silence.Add("", "something heard here")
	if silence.WER() != 1 {
		t.Errorf("something heard in silence: WER %v, want 1", silence.WER())
	}
}
