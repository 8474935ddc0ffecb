package tts

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// hostileLine makes a line of what texts from anywhere may hold.
func hostileLine(r *rand.Rand) string {
	pieces := []func() string{
		func() string {
			alphabets := []string{"abcdefgh ijklm", "ÀÉîöüßñ çœ", "Привет мир", "Ελληνικά άλφα", "你好世界天气", "こんにちはテレビ", "안녕하세요", "مرحبا بالعالم", "שלום עולם", "नमस्ते क्ष", "สวัสดีครับ", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢"}
			letters := []rune(alphabets[r.IntN(len(alphabets))])
			var b strings.Builder
			for range 1 + r.IntN(40) {
				b.WriteRune(letters[r.IntN(len(letters))])
			}
			return b.String()
		},
		func() string {
			return []string{"😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "☠"}[r.IntN(7)]
		},
		func() string {
			return []string{"-w out.wav", "--stdin", "-f /etc/passwd", "--", "-v en", "$(touch x)", "`touch x`", "; touch x", "| tee x", "> x", "&& id", "%s%n%x", "${IFS}", "../../x", "\\x00", "'; DROP TABLE x; --"}[r.IntN(16)]
		},
		func() string {
			return []string{"[[h@l'oU]]", "[[", "]]", "<speak>", "<audio src='x'/>", "<b>", "</b>", "&amp;", "&lt;i&gt;", "<!-- x -->", "<![CDATA[", "&#0;", "&#xffffff;", "<mark name='x'/>"}[r.IntN(14)]
		},
		func() string { return string(rune(r.IntN(0x20))) },
		func() string {
			return []string{"\u200b", "\u200d", "\u202e", "\ufeff", "\u00ad", "\u2028", "\U000e0041", "\ue000", "\uffff", "\u0301", strings.Repeat("\u0336", 30)}[r.IntN(11)]
		},
		func() string { return strings.Repeat(string(rune('0'+r.IntN(10))), 1+r.IntN(60)) },
		func() string {
			return strings.Repeat([]string{".", "?!", ",", "a", "ha ", "-", "_"}[r.IntN(7)], 1+r.IntN(80))
		},
		func() string { return string([]byte{0xff, 0xc0, byte(r.IntN(256))}) },
		func() string { return string(rune(r.IntN(0x110000))) },
	}
	var b strings.Builder
	for range 1 + r.IntN(12) {
		kind := r.IntN(len(pieces))
		if kind == 8 && r.IntN(10) > 0 {
			kind = 0 // most lines should get past the first gate
		}
		b.WriteString(pieces[kind]())
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Whatever comes, it is spoken or refused with a reason, and nothing else
// happens.
func TestHostileLines(t *testing.T) {
	t.Chdir(t.TempDir())
	s := openSet(t, Options{Jobs: 2, PartChars: 120})
	lines, every := 5000, 6
	if testing.Short() {
		every = 100
	}
	r := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	counts := struct {
		sync.Mutex
		n map[string]int
	}{n: make(map[string]int)}
	count := func(text string, err error) {
		var refusal *Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal.Reason == "") {
			t.Errorf("%q: %v is no refusal", text, err)
		}
		counts.Lock()
		defer counts.Unlock()
		counts.n[reason(err)]++
	}
	for i := range lines {
		line := hostileLine(r)
		clean, err := Clean(line, 0)
		if err != nil {
			count(line, err)
			continue
		}
		for _, part := range Split(clean, 120) {
			if utf8.RuneCountInString(part.Text) > 120 || !speakable(part.Text) {
				t.Errorf("%q has the part %q", clean, part.Text)
			}
		}
		if err := checkScript(clean, "en"); err != nil || i%every > 0 {
			count(clean, err)
			continue
		}
		wg.Go(func() {
			p, err := s.Speak(t.Context(), espeakSays(clean))
			count(clean, err)
			if err == nil && len(p.Samples) == 0 {
				t.Errorf("%q was spoken as nothing", clean)
			}
		})
	}
	wg.Wait()
	t.Logf("%v", counts.n)
	if counts.n[""] < lines/10 {
		t.Errorf("only %d of %d lines came through: %v", counts.n[""], lines, counts.n)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("files appeared: %v, %v", left, err)
	}
}
