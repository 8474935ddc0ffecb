package gates

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/melforge/melforge/audio"
)

func wavFile(t testing.TB, p audio.PCM) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.wav")
	if err := os.WriteFile(path, audio.AppendWAV(nil, p), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestParts holds lengths around the limit, at rates above and below it, and
// that every part fits once it is resampled.
func TestParts(t *testing.T) {
	const most = 480000
	for _, tt := range []struct{ rate, samples, parts int }{
		{16000, 0, 0}, {16000, 1, 0}, {16000, most - 1, 0}, {16000, most, 0},
		{16000, most + 1, 2}, {16000, most + 8000, 2}, {16000, 2 * most, 2}, {16000, 2*most + 1, 3}, {16000, 10 * most, 10},
		{44100, 1323000, 0}, {44100, 1323001, 2}, {22050, 661501, 2}, {8000, 240000, 0}, {8000, 240001, 2},
	} {
		samples := noise(tt.samples, 3) // nowhere quiet
		path := wavFile(t, audio.PCM{Rate: tt.rate, Samples: samples})
		parts, err := Parts(path, 16000, most)
		if err != nil || len(parts) != tt.parts {
			t.Errorf("%d samples at %d make %v, %v; want %d parts", tt.samples, tt.rate, parts, err, tt.parts)
		}
		checkParts(t, parts, tt.samples, tt.rate, most)
	}
	if parts, err := Parts(wavFile(t, audio.PCM{Rate: 16000, Samples: noise(5000, 1)}), 16000, 0); parts != nil || err != nil {
		t.Errorf("without a limit: %v, %v", parts, err)
	}
}

// checkParts wants parts to follow each other, to fit, and to be no crumbs.
func checkParts(t *testing.T, parts []Part, samples, rate, most int) {
	t.Helper()
	if len(parts) == 0 {
		return
	}
	at := 0
	for _, p := range parts {
		if p.From != at || p.To <= p.From || audio.Resampled(p.To-p.From, rate, 16000) > most || p.To-p.From < min(rate, most*rate/16000/2)-1 {
			t.Errorf("%d samples at %d: parts %v", samples, rate, parts)
			return
		}
		at = p.To
	}
	if at != samples {
		t.Errorf("%d samples at %d: the parts end at %d", samples, rate, at)
	}
}

// TestPartsEndInPauses wants cuts within the pauses, the quietest near the limit.
func TestPartsEndInPauses(t *testing.T) {
	const rate = 16000
	speech := tones(rate, 300, tone{70, -12}).Samples
	silence := func(from, to float64) {
		clear(speech[int(from*rate):int(to*rate)])
	}
	silence(20, 21)      // too far before the limit to be seen
	silence(27, 27.3)    // the first cut
	silence(54, 54.2)    // the second
	silence(29.9, 29.95) // too short to be a pause
	parts, err := Parts(wavFile(t, audio.PCM{Rate: rate, Samples: speech}), rate, 30*rate)
	if err != nil || len(parts) != 3 {
		t.Fatalf("%v, %v", parts, err)
	}
	for i, want := range []float64{27, 54} {
		if end := float64(parts[i].To) / rate; end < want+0.05 || end > want+0.26 {
			t.Errorf("part %d ends at %.3f s, the pause begins at %g s", i, end, want)
		}
	}
	silent, err := Parts(wavFile(t, audio.PCM{Rate: rate, Samples: make([]int16, 61*rate)}), rate, 30*rate)
	if err != nil || len(silent) != 3 || silent[0].To != 30*rate {
		t.Errorf("silence is cut at %v, %v", silent, err)
	}
}

func FuzzParts(f *testing.F) {
	f.Add(480001, 16000, 480000)
	f.Add(9, 1000, 2)
	f.Add(100000, 44100, 20)
	f.Fuzz(func(t *testing.T, samples, rate, most int) {
		if samples < 0 || samples > 200000 || rate < 1000 || rate > 192000 || most < 20 {
			return
		}
		most = min(most, 1<<30)
		parts, err := Parts(wavFile(t, audio.PCM{Rate: rate, Samples: noise(samples, 9)}), 16000, most)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, p := range parts {
			if p.From != at || p.To <= p.From || audio.Resampled(p.To-p.From, rate, 16000) > most {
				t.Fatalf("%d samples at %d, at most %d: %v", samples, rate, most, parts)
			}
			at = p.To
		}
		if len(parts) > 0 && at != samples {
			t.Fatalf("%d samples at %d, at most %d: the parts end at %d", samples, rate, most, at)
		}
	})
}
