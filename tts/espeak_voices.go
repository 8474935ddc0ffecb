package tts

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// check says whether espeak-ng has the voice and its variant. It must be asked
// before speaking: espeak-ng itself speaks on without a variant it does not
// know.
func (e *espeak) check(ctx context.Context, v Voice) error {
	facts, err := e.facts(ctx)
	if err != nil {
		return err
	}
	name, variant, plus := strings.Cut(v.Name, "+")
	switch {
	case !facts.names[name]:
		return fmt.Errorf("voice %s: %w in espeak-ng; `melforge voices` lists them", v, errNoVoice)
	case v.Speaker != "":
		return &UnknownVoice{Name: v.String(), Why: "espeak voices have no speakers; a variant follows a plus, as in espeak/en-us+f3"}
	case plus && !facts.variants[variant]:
		return &UnknownVoice{Name: v.String(), Why: fmt.Sprintf("espeak-ng has no variant %q; `espeak-ng --voices=variant` lists them", variant)}
	}
	return nil
}

var espeakVersion = regexp.MustCompile(`: (\S+).*Data at: (.+)`)

// parseEspeakVersion reads "eSpeak NG text-to-speech: 1.51  Data at: /usr/…".
func parseEspeakVersion(s string) (version, data string, err error) {
	m := espeakVersion.FindStringSubmatch(s)
	if m == nil {
		return "", "", fmt.Errorf("espeak-ng --version said %.80q: not understood", s)
	}
	return m[1], strings.TrimSpace(m[2]), nil
}

// parseEspeakVoices reads the table of `espeak-ng --voices`. A voice goes by
// its language; of two with one language espeak-ng takes the first.
func parseEspeakVoices(table string) (infos []VoiceInfo, names map[string]bool) {
	names = make(map[string]bool)
	for row := range espeakRows(table) {
		lang := row[1]
		if names[lang] || !voiceName.MatchString(lang) || strings.Contains(lang, "+") {
			continue
		}
		names[lang] = true
		infos = append(infos, VoiceInfo{
			Voice:   Voice{Engine: "espeak", Name: lang}.String(),
			Lang:    lang,
			Gender:  espeakGender(row[2]),
			Rate:    espeakRate,
			License: licenseEspeak,
			Note:    strings.ReplaceAll(row[3], "_", " ") + "; a variant may follow, as in +f3",
		})
	}
	return infos, names
}

// parseEspeakVariants reads the table of `espeak-ng --voices=variant`, where
// the file "!v/f3" is the variant "f3".
func parseEspeakVariants(table string) map[string]bool {
	variants := make(map[string]bool)
	for row := range espeakRows(table) {
		// A name with a blank in it cannot be told from the next column.
		if name, ok := strings.CutPrefix(row[4], "!v/"); ok && voiceName.MatchString(name) && len(row) == 5 {
			variants[name] = true
		}
	}
	return variants
}

// espeakRows yields the columns of each voice: priority, language, age and
// gender, name, file, and perhaps more.
func espeakRows(table string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			row := strings.Fields(line)
			if len(row) < 5 || row[0] == "Pty" {
				continue
			}
			if !yield(row) {
				return
			}
		}
	}
}

func espeakGender(column string) string {
	switch column[strings.LastIndexByte(column, '/')+1:] {
	case "M":
		return "male"
	case "F":
		return "female"
	}
	return ""
}
