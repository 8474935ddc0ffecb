package tts

import (
	"context"
	"fmt"
	"math"

	"github.com/melforge/melforge/audio"
)

// frontVersion is part of every fingerprint: how texts are cut into parts and
// their sounds joined changes what is heard.
const frontVersion = 1

// quiet is the magnitude below which a sample counts as silence: -54 dB.
const quiet = 64

// speakParts speaks one part after the other and joins their sounds.
func speakParts(ctx context.Context, e Engine, u Utterance, parts []Part) (audio.PCM, error) {
	var whole audio.PCM
	pause := 0.0
	for i, part := range parts {
		u.Text = part.Text
		sound, err := e.Speak(ctx, u)
		if err != nil {
			return audio.PCM{}, err
		}
		if i == 0 {
			whole = sound
		} else {
			if sound.Rate != whole.Rate {
				return audio.PCM{}, fmt.Errorf("voice %s spoke at %d Hz and then at %d", u.Voice, whole.Rate, sound.Rate)
			}
			whole.Samples = join(whole.Samples, sound.Samples, int(math.Round(pause*float64(whole.Rate))))
		}
		if whole.Seconds() > maxAudio {
			return audio.PCM{}, refuse(ReasonAudioTooLong, "more than %d s", maxAudio)
		}
		pause = part.Pause / u.Speed
	}
	return whole, nil
}

// join appends b to a with a silence of the given samples between them. The
// silence that a voice itself puts at its ends counts: engines differ in it.
func join(a, b []int16, pause int) []int16 {
	tail := 0
	for tail < len(a) && isQuiet(a[len(a)-1-tail]) {
		tail++
	}
	head := 0
	for head < len(b) && isQuiet(b[head]) {
		head++
	}
	missing := pause - tail - head
	if missing < 0 {
		surplus := min(-missing, tail)
		a, missing = a[:len(a)-surplus], missing+surplus
		b, missing = b[-missing:], 0
	}
	out := make([]int16, 0, len(a)+missing+len(b))
	out = append(out, a...)
	out = append(out, make([]int16, missing)...)
	return append(out, b...)
}

func isQuiet(s int16) bool { return s > -quiet && s < quiet }
