package corpus

import (
	"path/filepath"
	"strings"
)

// parseLJSpeech reads id|text|normalised, where the last may be missing.
func parseLJSpeech(raw []byte) (Line, error) {
	fields := strings.SplitN(string(raw), "|", 4)
	if len(fields) < 2 || len(fields) > 3 {
		return Line{}, reject(FieldCount, "%d fields, id|text or id|text|normalised has 2 or 3",
			strings.Count(string(raw), "|")+1)
	}
	l := Line{ID: strings.TrimSpace(fields[0]), Text: strings.TrimSpace(fields[1])}
	if len(fields) == 3 {
		if normalised := strings.TrimSpace(fields[2]); normalised != "" {
			l.Text = normalised
		}
	}
	if l.ID != "" {
		l.Audio = filepath.Join("wavs", l.ID+".wav")
	}
	return l, nil
}
