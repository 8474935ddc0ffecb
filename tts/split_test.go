package tts

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want []Part
	}{
		{"Short.", 0, []Part{{"Short.", 0}}},
		{"One two. Three four. Five six.", 22, []Part{{"One two. Three four.", sentencePause}, {"Five six.", 0}}},
		{"He said \"No!\" Then he left.", 16, []Part{{"He said \"No!\"", sentencePause}, {"Then he left.", 0}}},
		{"Ask Dr. Watson about it, then J. R. Smith.", 26, []Part{{"Ask Dr. Watson about it,", clausePause}, {"then J. R. Smith.", 0}}},
		{"Pi is 3.14159 or so. Yes.", 22, []Part{{"Pi is 3.14159 or so.", sentencePause}, {"Yes.", 0}}},
		{"one two three four", 9, []Part{{"one two", wordPause}, {"three", wordPause}, {"four", 0}}},
		{"abcdefgh", 3, []Part{{"abc", 0}, {"def", 0}, {"gh", 0}}},
		{"aae\u0301\u0301bb", 3, []Part{{"aa", 0}, {"e\u0301\u0301", 0}, {"bb", 0}}},
		{"今天天气很好。我们去公园，看花。", 9, []Part{{"今天天气很好。", sentencePause}, {"我们去公园，看花。", 0}}},
		{"Word ............ word", 8, []Part{{"Word", sentencePause}, {"word", 0}}},
		{"Last word .........", 10, []Part{{"Last word", 0}}},
	} {
		if got := Split(c.in, c.max); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Split(%q, %d) = %+v, want %+v", c.in, c.max, got, c.want)
		}
	}
}

// letters are what must not be lost.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

func FuzzSplit(f *testing.F) {
	f.Add("One two. Three, four; five.", 7)
	f.Add("今天天气很好。我们去公园，看花。", 3)
	f.Add("a\u0301\u0301\u0301\u0301\u0301b ... \"x\") y", 2)
	f.Add("क्\u200dषक्\u200dष", 2)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		text, err := Clean(in, 1<<20)
		if err != nil {
			return
		}
		limit = 1 + (limit&0x7fffffff)%50
		var all strings.Builder
		parts := Split(text, limit)
		for i, p := range parts {
			if n := utf8.RuneCountInString(p.Text); n > limit || n == 0 || p.Text != strings.TrimSpace(p.Text) || !speakable(p.Text) {
				t.Errorf("%q at %d: part %q", text, limit, p.Text)
			}
			if p.Pause < 0 || i == len(parts)-1 && p.Pause != 0 {
				t.Errorf("%q: pause %g after part %d of %d", text, p.Pause, i, len(parts))
			}
			all.WriteString(p.Text)
		}
		if letters(all.String()) != letters(text) {
			t.Errorf("%q became %q", text, all.String())
		}
	})
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		a, b  []int16
		pause int
		want  []int16
	}{
		{[]int16{900, 1}, []int16{2, 900}, 4, []int16{900, 1, 0, 0, 2, 900}},
		{[]int16{900, 1, 1, 1}, []int16{2, 900}, 2, []int16{900, 1, 2, 900}},
		{[]int16{900, 1}, []int16{2, 3, 4, 900}, 1, []int16{900, 4, 900}},
		{[]int16{900}, []int16{-900}, 0, []int16{900, -900}},
		{[]int16{1, 1}, []int16{1}, 0, []int16{}},
		{nil, nil, 2, []int16{0, 0}},
	} {
		a, b := slices.Clone(c.a), slices.Clone(c.b)
		if got := join(a, b, c.pause); !slices.Equal(got, c.want) || !slices.Equal(a, c.a) || !slices.Equal(b, c.b) {
			t.Errorf("join(%v, %v, %d) = %v, want %v", c.a, c.b, c.pause, got, c.want)
		}
	}
}

// A long text is spoken whole, and sounds about as long as if in one go.
func TestSpeakInParts(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("The birch canoe slid on the smooth planks. Glue the sheet, please, to the dark blue background. ", 6))
	whole := openSet(t, Options{PartChars: 1 << 20})
	parts := openSet(t, Options{PartChars: 100})
	u := espeakSays(text)
	for _, speed := range []float64{1, 1.7} {
		u.Speed = speed
		a, err := whole.Speak(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parts.Speak(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parts.Speak(t.Context(), u); err != nil || !slices.Equal(again.Samples, b.Samples) {
			t.Errorf("parts do not repeat: %v", err)
		}
		if x, y := a.Seconds(), b.Seconds(); y < x*0.93 || y > x*1.07 {
			t.Errorf("speed %g: %.2f s in one go, %.2f s in parts", speed, x, y)
		}
	}
	x, errX := whole.Fingerprint(t.Context(), u.Voice)
	y, errY := parts.Fingerprint(t.Context(), u.Voice)
	if errX != nil || errY != nil || x == y {
		t.Errorf("the cut is not in the fingerprint: %q, %v, %v", x, errX, errY)
	}
}
