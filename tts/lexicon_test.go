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
		"a\t/e i/":                 "phonemes",
		"a\t/e]]i/":                "phonemes",
		"a\t//":                    "phonemes",
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

func TestLexiconPhonemes(t *testing.T) {
	l := lexicon(t, "Nguyen\t/nw'En/\nSQL\tsequel\n")
	const text = "Ask Nguyen about SQL."
	if got, want := l.Apply(text), "Ask Nguyen about sequel."; got != want {
		t.Errorf("Apply gives %q, want %q", got, want)
	}
	if got, want := l.Phonemes(text), "Ask [[nw'En]] about SQL."; got != want {
		t.Errorf("Phonemes gives %q, want %q", got, want)
	}
}

// The voice must obey them: the sound changes, and only by the word.
func TestEspeakObeysTheLexicon(t *testing.T) {
	s := openSet(t, Options{})
	say := func(text string) int {
		p, err := s.Speak(t.Context(), espeakSays(text))
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Samples)
	}
	spelt := say("Say [[h@l'oU]] now.")
	if read := say("Say hello now."); spelt < read*8/10 || spelt > read*12/10 {
		t.Errorf("spelt in phonemes it has %d samples, read %d", spelt, read)
	}
	if letters := say("Say h@l'oU now."); spelt == letters {
		t.Error("the phonemes were read as letters")
	}
}
