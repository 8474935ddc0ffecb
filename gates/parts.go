package gates

import "github.com/melforge/melforge/audio"

// Part is a stretch of a wav file, in samples of that file: From is its first
// sample, To the one behind its last.
type Part struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// IsZero reports whether it is no part of anything.
func (p Part) IsZero() bool { return p == Part{} }

// Where a long sound is cut: at most searchSeconds before the limit, in the
// middle of the quietest quietSeconds there, so that no word is cut in two.
const (
	searchSeconds = 5
	quietSlots    = 10 // that make up a quiet place
	slotsASecond  = 100
	// shortestSeconds is left for the last part: less would hardly hold a word.
	shortestSeconds = 1
	// pause is how much less power a quiet place has than what surrounds it: 6 dB.
	pause = 4
)

// Parts cuts the wav at path into parts that have, at the given rate, at most
// that many samples. Each ends at the quietest place shortly before the limit, or
// at the limit where none is quiet. It gives none where the whole is short
// enough, or nothing limits it. Equal files give equal parts.
func Parts(path string, rate, most int) (parts []Part, err error) {
	f, err := audio.OpenWAV(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if most <= 0 || audio.Resampled(f.Samples(), f.Rate(), rate) <= most {
		return nil, nil
	}
	limit := max(1, int(int64(most)*int64(f.Rate())/int64(rate)))
	for from := 0; from < f.Samples(); {
		to := f.Samples()
		if to-from > limit {
			if to, err = cut(f, from, limit); err != nil {
				return nil, err
			}
		}
		parts = append(parts, Part{from, to})
		from = to
	}
	return parts, nil
}

// cut finds the end of the part that begins at from and has at most limit
// samples, where there are more.
func cut(f *audio.File, from, limit int) (int, error) {
	last := min(from+limit, f.Samples()-min(shortestSeconds*f.Rate(), limit/2))
	search := make([]int16, min(searchSeconds*f.Rate(), limit/2))
	if err := f.ReadPart(search, last-len(search)); err != nil {
		return 0, err
	}
	at, ok := quietest(search, f.Rate()/slotsASecond)
	if !ok {
		return last, nil
	}
	return last - len(search) + at, nil
}

// quietest finds the middle of the quietest place, the last of equal ones.
func quietest(samples []int16, slot int) (at int, ok bool) {
	slots := len(samples) / slot
	if slots < 2*quietSlots {
		return 0, false
	}
	energies := make([]float64, slots)
	var all, here, least float64
	for i := range energies {
		rms := audio.Measure(audio.PCM{Samples: samples[i*slot:][:slot]}).RMS
		energies[i] = rms * rms
		all += energies[i]
	}
	for i := range slots - quietSlots + 1 {
		here = 0
		for _, e := range energies[i:][:quietSlots] {
			here += e
		}
		if i == 0 || here <= least {
			least, at = here, i*slot+quietSlots*slot/2
		}
	}
	return at, least/quietSlots*pause < all/float64(slots)
}
