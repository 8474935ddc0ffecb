package gates

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/melforge/melforge/audio"
)

// shortTexts are those whose pace is furthest from that of sentences.
var shortTexts = []string{
	"No.", "I", "A", "W", "1", "OK", "Go.", "Yes!", "42", "1999", "BBC", "www", "12345678", "3.14159",
	"Hi there.", "IBM's HTTP API", "$1,234,567.89", "1,000,000,000,000", "100%", "aaaaaaaa", "strengths", "😀",
}

func speak(t *testing.T, voice string, wpm int, text string) audio.PCM {
	t.Helper()
	cmd := exec.Command("espeak-ng", "-v", voice, "-s", strconv.Itoa(wpm), "--stdin", "--stdout")
	cmd.Stdin = bytes.NewBufferString(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("espeak-ng: %v", err)
	}
	p, err := audio.DecodeWAV(out)
	if err != nil {
		t.Fatalf("espeak-ng's wav: %v", err)
	}
	return p
}

func needEspeak(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
}

// Good speech passes the defaults: sentences and odd short texts, slow and fast.
func TestDefaultPassesEspeak(t *testing.T) {
	needEspeak(t)
	f, err := os.Open("../samples/corpus.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	texts := shortTexts
	for _, row := range rows[1:] {
		texts = append(texts, row[1])
	}
	for _, wpm := range []int{80, 175, 450} {
		if testing.Short() && wpm != 175 {
			continue
		}
		for _, text := range texts {
			checkPasses(t, "en-us", wpm, text)
		}
	}
}

func TestDefaultPassesOtherScripts(t *testing.T) {
	needEspeak(t)
	for voice, text := range map[string]string{
		"cmn": "今天天气很好我们去公园散步", "de": "Die Donaudampfschifffahrtsgesellschaft fährt.", "ar": "الطقس جميل اليوم",
		"ja": "こんにちは、きょうはいいてんきですね。", "ru": "Сегодня хорошая погода.", "hi": "आज मौसम बहुत अच्छा है।",
		"ko": "오늘은 날씨가 좋네요.", "el": "Σήμερα ο καιρός είναι καλός.", "fi": "Hyvää päivää kaikille.", "th": "วันนี้อากาศดี",
	} {
		for _, wpm := range []int{120, 175, 300} {
			checkPasses(t, voice, wpm, text)
		}
	}
}

func checkPasses(t *testing.T, voice string, wpm int, text string) {
	t.Helper()
	p := speak(t, voice, wpm, text)
	_, f, bad := Default().Apply(p, text)
	if bad != nil {
		t.Errorf("%s at %d words a minute, %q: %v", voice, wpm, text, bad)
	}
	least, _ := Units(text)
	spoken := p.Seconds() - f.LeadingSilence - f.TrailingSilence
	t.Logf("%s %d %3d units %6.3f s spoken %.4f a unit, silence %.3f %.3f peak %.3f %.1f LUFS %q",
		voice, wpm, least, spoken, spoken/float64(max(least, 1)), f.LeadingSilence, f.TrailingSilence, f.Peak, f.LUFS, text)
}

// Bad speech does not: nothing to say, half a text, another text, overdriven.
func TestDefaultRejectsEspeak(t *testing.T) {
	needEspeak(t)
	long := "I have often wondered what became of the man who lived next to us, and of his many cats."
	loud := amplify(speak(t, "en-us", 175, long), 8)
	tests := map[string]struct {
		sound  audio.PCM
		text   string
		reason string
	}{
		"dots":       {speak(t, "en-us", 175, "..."), "...", Silent},
		"one word":   {speak(t, "en-us", 175, "I"), long, Pace},
		"a sentence": {speak(t, "en-us", 175, long), "Yes.", Pace},
		"overdriven": {loud, long, Clipped},
	}
	for name, tt := range tests {
		if _, f, bad := Default().Apply(tt.sound, tt.text); bad == nil || bad.Reason != tt.reason {
			t.Errorf("%s: %v (%+v), want %s", name, bad, f, tt.reason)
		}
	}
}
