package tts

import (
	"strings"
	"testing"
	"unicode"
)

func TestCheckScript(t *testing.T) {
	for _, c := range []struct {
		text, lang string
		ok         bool
	}{
		{"Hello", "en-us", true}, {"Hello", "", true}, {"你好", "", true},
		{"你好世界", "en-us", false}, {"你好世界", "cmn", true}, {"ni hao", "cmn-latn-pinyin", true}, {"Hello there", "cmn", false},
		{"Привет", "en", false}, {"Привет", "ru", true}, {"مرحبا", "ar", true}, {"مرحبا", "en-gb-x-rp", false},
		{"今日はとてもいいテンキ", "ja", true}, {"안녕하세요", "ko", true}, {"नमस्ते", "hi", true}, {"สวัสดี", "th", true},
		{"The Greek letter α is alpha.", "en", true}, {"12 + 30 = 42", "ru", true}, {"😀 5", "el", true},
		{"Merhaba", "tr", true}, {"Привет мир abc", "en_US", false}, {"Οδός", "el", true}, {"Zdravo", "bs", true}, {"Здраво", "bs", true},
	} {
		err := checkScript(c.text, c.lang)
		if c.ok && err != nil || !c.ok && reason(err) != ReasonScriptMismatch {
			t.Errorf("%q in %q: %v", c.text, c.lang, err)
		}
	}
}

// Every script that is named is one that Go knows.
func TestScriptNames(t *testing.T) {
	s := openSet(t, Options{})
	infos, err := s.Voices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		lang, _, _ := strings.Cut(i.Lang, "-")
		for _, name := range scriptsOf(lang) {
			if unicode.Scripts[name] == nil {
				t.Errorf("%s: no script %q", i.Lang, name)
			}
		}
	}
}
