package tts

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Hello, world.", "Hello, world."},
		{" \t a \r\n\v b\u00a0\u2003c \u0085", "a b c"},
		{"e\u0301", "\u00e9"},
		{"e\u200b\u0301x", "\u00e9x"},
		{"\ufeffa\x00b\x1b[31mc\u202e", "ab[31mc"},
		{"say [[h@l'oU]] now", "say [ [h@l'oU] ] now"},
		{"[[[x]]]", "[ [ [x] ] ]"},
		{"[\u200b[x]\x00]", "[ [x] ]"},
		{"-w /tmp/x", "-w /tmp/x"},
		{"7", "7"},
		{"你好", "你好"},
		{"<p>Hel<b>lo</b>,<br/>world &amp; <a href=\"x?a=1\">all</a>.</p>", "Hello, world & all."},
		{"<speak version='1.0'><audio src='x'/>hi<break time=\"1s\"/>there</speak>", "hi there"},
		{"a <b and c> d, 1<2 && 3>2, Hello <name>", "a <b and c> d, 1<2 && 3>2, Hello <name>"},
		{"&lt;b&gt;bold&lt;/b&gt; AT&T &nosuch; caf&eacute;&#33; x&nbsp;y", "bold AT&T &nosuch; café! x y"},
		{"x<!-- not this --> y", "x y"},
		{"&amp\u037e a", "& a"},
		{"می\u200cخواهم", "می\u200cخواهم"},
		{"क्\u200dष \u200d क्\u200c\u200dx", "क्\u200dष क्x"},
		{"👩\u200d🚀 a\u200db", "👩🚀 ab"},
		{"a\ue000b\U0010ffff\ufdd0c", "abc"},
		{"12345678901234567890 is fine", "12345678901234567890 is fine"},
		{"no. 123456789012345678901.", "no. 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1."},
		{"<h111111111111111111111>x", "<h1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1>x"},
		{strings.Repeat("é", MaxChars), strings.Repeat("é", MaxChars)},
	} {
		if got, err := Clean(c.in, 0); err != nil || got != c.want {
			t.Errorf("Clean(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestCleanRefuses(t *testing.T) {
	for _, c := range []struct {
		in, reason string
		max        int
	}{
		{"", ReasonEmpty, 0},
		{" \u200b\x00\t", ReasonEmpty, 0},
		{"...", ReasonNoLetters, 0},
		{"🙂", ReasonNoLetters, 0},
		{"[[ ]]", ReasonNoLetters, 0},
		{"caf\xe9", ReasonInvalidUTF8, 0},
		{strings.Repeat("a", MaxChars+1), ReasonTooLong, 0},
		{"four", ReasonTooLong, 3},
		{"&amp;amp;amp;amp;amp;amp;amp;amp; deep", ReasonMarkup, 0},
		{"<b></b>", ReasonEmpty, 0},
	} {
		_, err := Clean(c.in, c.max)
		var r *Refusal
		if !errors.As(err, &r) || r.Reason != c.reason {
			t.Errorf("Clean(%.20q): %v, want %s", c.in, err, c.reason)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a", "e\u0301", "[[a]]", "a\u200b\u0301", "각", strings.Repeat("\u0301", 40) + "a", "a" + strings.Repeat("\u0316\u0301", 40), "\u0958", "a\u034f\u0301",
		"<b>x</b>&lt;i&gt;&amp;lt;", "می\u200cخ", "क्\u200dष", "1234567890123456789012", "<h1111111111111111111111111>y", "e<i></i>\u0301", "&amp\u037e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := Clean(in, 1<<20)
		if err != nil {
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%v is no Refusal", err)
			}
			return
		}
		switch {
		case !utf8.ValidString(out):
			t.Errorf("%q is not valid", out)
		case !norm.NFC.IsNormalString(out):
			t.Errorf("%q is not NFC", out)
		case strings.ContainsFunc(out, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) || r != zwj && r != zwnj && invisible(r) }):
			t.Errorf("%q holds what should be gone", out)
		case strings.Contains(out, "  ") || strings.Contains(out, "[[") || strings.Contains(out, "]]") || strings.TrimSpace(out) != out:
			t.Errorf("%q is not squeezed", out)
		}
		if again, err := Clean(out, 1<<20); err != nil || again != out {
			t.Errorf("Clean(%q) = %q, %v: not idempotent", out, again, err)
		}
	})
}
