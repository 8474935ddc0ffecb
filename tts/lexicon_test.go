package tts

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const testLexicon = "\ufeff# how to read\n\nNginx\tengine x\nAT&T\tA T and T\nSQL\tsequel\nSQL Server\tsequel server\nC++\tsee plus plus\ncafe\u0301\tkaffay\r\n"

func lexicon(t testing.TB, text string) Lexicon {
	t.Helper()
	l, err := ParseLexicon(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLexicon(t *testing.T) {
	l := lexicon(t, testLexicon)
	for in, want := range map[string]string{
		"NGINX, nginx's and nginxes": "engine x, engine x's and nginxes",
		"at&t":                       "A T and T",
		"MySQL, SQL server, sql.":    "MySQL, sequel server, sequel.",
		"I like C++.":                "I like see plus plus.",
		"the caf\u00e9":              "the kaffay",
		"nothing here":               "nothing here",
		"":                           "",
		"bad \xff nginx":             "bad \xff nginx",
	} {
		if got := l.Apply(in); got != want {
			t.Errorf("Apply(%q) = %q, want %q", in, got, want)
		}
	}
	if (Lexicon{}).Apply("nginx") != "nginx" || (Lexicon{}).Hash() != "" || lexicon(t, "# none\n").Hash() != "" {
		t.Error("an empty lexicon does something")
	}
	a, b, c := lexicon(t, "a\tb\nc\td\n"), lexicon(t, "C\td\nA\tb\n"), lexicon(t, "a\tb\nc\te\n")
	if a.Hash() == "" || a.Hash() != b.Hash() || a.Hash() == c.Hash() {
		t.Errorf("hashes %s, %s, %s", a.Hash(), b.Hash(), c.Hash())
	}
}

func TestLexiconRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"word":                     "line 1: want a word, a tab",
		"a\tb\n\tb":                "line 2: want",
		"a\t \n":                   "want a word",
		"a\tb\nA\tc":               "line 2: \"a\" is on line 1",
		"a\t/ei/":                  "phonemes",
		"\xff\tb":                  "UTF-8",
		strings.Repeat("x", 1<<17): "too long",
	} {
		if _, err := ParseLexicon(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want an error with %q", text, err, want)
		}
	}
	if _, err := ReadLexicon("no/such/file"); err == nil {
		t.Error("a file that is not there was read")
	}
}

func FuzzLexicon(f *testing.F) {
	f.Add(testLexicon, "NGINX's SQL server in C++")
	f.Fuzz(func(t *testing.T, file, text string) {
		l, err := ParseLexicon(strings.NewReader(file))
		if err != nil {
			return
		}
		if got := l.Apply(text); utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
