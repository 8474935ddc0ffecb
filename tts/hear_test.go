package tts

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/melforge/melforge/audio"
)

func TestWER(t *testing.T) {
	for _, c := range []struct {
		ref, hyp string
		want     float64
	}{
		{"", "", 0}, {"", "what", 1}, {"one two", "", 1},
		{"It's easy, isn’t it?", "its easy isn't it", 0.25},
		{"The birch canoe", "the BIRCH, canoe!", 0},
		{"a b c d", "a x c d e", 0.5}, {"a b", "b a b", 0.5}, {"cafe\u0301", "caf\u00e9", 0}, {"'quoted' word", "quoted word", 0},
		{"one", "two three four", 3},
	} {
		if got := WER(c.ref, c.hyp); got != c.want {
			t.Errorf("WER(%q, %q) = %g, want %g", c.ref, c.hyp, got, c.want)
		}
	}
}

// harvard are sentences that are made to be spoken, phonetically balanced.
var harvard = []string{
	"The birch canoe slid on the smooth planks.", "Glue the sheet to the dark blue background.", "It's easy to tell the depth of a well.",
	"These days a chicken leg is a rare dish.", "Rice is often served in round bowls.", "The juice of lemons makes fine punch.",
	"The box was thrown beside the parked truck.", "The hogs were fed chopped corn and garbage.", "Four hours of steady work faced us.",
	"A large size in stockings is hard to sell.", "The boy was there when the sun rose.", "A rod is used to catch pink salmon.",
	"The source of the huge river is the clear spring.", "Kick the ball straight and follow through.", "Help the woman get back to her feet.",
	"A pot of tea helps to pass the evening.", "Smoky fires lack flame and heat.", "The soft cushion broke the man's fall.",
	"The salt breeze came across from the sea.", "The girl at the booth sold fifty bonds.", "The small pup gnawed a hole in the sock.",
	"The fish twisted and turned on the bent hook.", "Press the pants and sew a button on the vest.", "The swan dive was far short of perfect.",
}

// rate is the word error rate of a voice over all of harvard.
func rate(t *testing.T, s *Set, v Voice) float64 {
	t.Helper()
	errors, all := 0.0, 0
	for _, text := range harvard {
		sound, err := s.Speak(t.Context(), Utterance{Text: text, Voice: v, Speed: 1})
		if err != nil {
			t.Fatal(err)
		}
		heard, err := s.Hear(t.Context(), sound)
		if err != nil {
			t.Fatal(err)
		}
		n := len(words(text))
		errors += WER(text, heard) * float64(n)
		all += n
	}
	t.Logf("%s: %.1f %% of %d words are wrong", v, 100*errors/float64(all), all)
	return errors / float64(all)
}

// testAdded fetches what can be added, speaks with it, and hears.
func testAdded(t *testing.T, o Options) {
	from := registry(t)
	s := open(t, o)
	jenny := piperSays("x").Voice
	if _, err := s.Hear(t.Context(), audio.PCM{Rate: 16000, Samples: make([]int16, 16000)}); err == nil || !strings.Contains(err.Error(), "voices add moonshine") {
		t.Errorf("without a recogniser: %v", err)
	}
	if _, err := s.Resolve(t.Context(), "libritts:5"); err == nil || !strings.Contains(err.Error(), "voices add libritts") {
		t.Errorf("before it is added: %v", err)
	}
	for _, a := range Additions() {
		for range 2 { // the second time nothing is fetched
			if name, err := s.Add(t.Context(), a.Name, AddOptions{Registry: from}); err != nil || name != a.Name {
				t.Fatalf("Add(%s) = %s, %v", a.Name, name, err)
			}
			from = "http://nowhere.invalid"
		}
		from = registry(t)
	}
	testSpeakers(t, s)
	if got := rate(t, s, jenny); got > 0.15 {
		t.Errorf("jenny is heard with %.2f of the words wrong", got)
	}
	if got := rate(t, s, Voice{Engine: "piper", Name: "libritts", Speaker: "123"}); got > 0.15 {
		t.Errorf("libritts is heard with %.2f of the words wrong", got)
	}
	if got := rate(t, s, Voice{Engine: "espeak", Name: "en-us"}); got > 0.5 {
		t.Errorf("espeak is heard with %.2f of the words wrong", got)
	}
	long := strings.Join(harvard[:12], " ")
	sound, err := s.Speak(t.Context(), Utterance{Text: long, Voice: jenny, Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	heard, err := s.Hear(t.Context(), sound)
	if err != nil || WER(long, heard) > 0.25 {
		t.Errorf("%.1f s were heard as %q, %v", sound.Seconds(), heard, err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if again, err := s.Hear(t.Context(), sound); err != nil || again != heard {
				t.Errorf("together it is heard as %q, %v; alone as %q", again, err, heard)
			}
		})
	}
	wg.Wait()
	for _, p := range []audio.PCM{{Rate: 16000}, {Rate: 8000, Samples: []int16{1}}, {Rate: 44100, Samples: make([]int16, 44100)}} {
		if heard, err := s.Hear(t.Context(), p); err != nil || WER("", heard) > 1 {
			t.Errorf("%d samples of silence were heard as %q, %v", len(p.Samples), heard, err)
		}
	}
}

// testSpeakers tries the voice of many speakers.
func testSpeakers(t *testing.T, s *Set) {
	v, err := s.Resolve(t.Context(), "libritts:*")
	if err != nil || v.String() != "piper/libritts:*" {
		t.Fatalf("%v, %v", v, err)
	}
	if n, err := s.Speakers(t.Context(), v); err != nil || n != 904 {
		t.Errorf("%d speakers, %v", n, err)
	}
	if n, err := s.Speakers(t.Context(), Voice{Engine: "piper", Name: "jenny"}); err != nil || n != 1 {
		t.Errorf("jenny: %d speakers, %v", n, err)
	}
	if _, err := s.Speak(t.Context(), Utterance{Text: "x", Voice: v, Speed: 1}); err == nil || reason(err) != "" {
		t.Errorf("any speaker: %v, want a plain error", err)
	}
	for _, name := range []string{"libritts:904", "libritts:-1", "libritts:07", "libritts:x", "jenny:*"} {
		if v, err := s.Resolve(t.Context(), name); err == nil {
			t.Errorf("Resolve(%q) = %v", name, v)
		}
	}
	var sounds [][]int16
	for _, speaker := range []string{"3", "903", "3"} {
		v.Speaker = speaker
		p, err := s.Speak(t.Context(), Utterance{Text: "Who is it?", Voice: v, Speed: 1})
		if err != nil {
			t.Fatal(err)
		}
		sounds = append(sounds, p.Samples)
	}
	if slices.Equal(sounds[0], sounds[1]) || !slices.Equal(sounds[0], sounds[2]) {
		t.Error("speakers 3 and 903 sound alike, or 3 not like itself")
	}
}
