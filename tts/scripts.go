package tts

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// scriptsOf are those a language is written in, by the part of its name before
// the first "-". Most are written in Latin letters.
func scriptsOf(lang string) []string {
	switch lang {
	case "ar", "fa", "fas", "ckb", "ps", "ug", "ur", "sd":
		return []string{"Arabic"}
	case "hy", "hyw":
		return []string{"Armenian"}
	case "as", "bn", "bpy":
		return []string{"Bengali"}
	case "chr":
		return []string{"Cherokee", "Latin"}
	case "ba", "be", "bg", "cv", "kk", "ky", "mk", "mn", "ru", "tt", "uk":
		return []string{"Cyrillic"}
	case "bho", "hi", "kok", "mai", "mr", "ne", "sa":
		return []string{"Devanagari"}
	case "am", "ti":
		return []string{"Ethiopic"}
	case "ka":
		return []string{"Georgian"}
	case "el", "grc":
		return []string{"Greek"}
	case "gu":
		return []string{"Gujarati"}
	case "pa":
		return []string{"Gurmukhi"}
	case "ko":
		return []string{"Hangul", "Han"}
	case "hak":
		return []string{"Latin", "Han"}
	case "cmn", "nan", "wuu", "yue", "zh":
		return []string{"Han", "Bopomofo"}
	case "ja":
		return []string{"Han", "Hiragana", "Katakana"}
	case "he":
		return []string{"Hebrew"}
	case "kn":
		return []string{"Kannada"}
	case "km":
		return []string{"Khmer"}
	case "lo":
		return []string{"Lao"}
	case "ku":
		return []string{"Latin", "Arabic"}
	case "az", "bs", "hr", "nog", "sh", "sr", "tk", "uz":
		return []string{"Latin", "Cyrillic"}
	case "ml":
		return []string{"Malayalam"}
	case "my", "shn":
		return []string{"Myanmar"}
	case "or":
		return []string{"Oriya"}
	case "si":
		return []string{"Sinhala"}
	case "ta":
		return []string{"Tamil"}
	case "te":
		return []string{"Telugu"}
	case "dv":
		return []string{"Thaana"}
	case "th":
		return []string{"Thai"}
	case "bo", "dz":
		return []string{"Tibetan"}
	case "cr", "iu":
		return []string{"Canadian_Aboriginal"}
	}
	return []string{"Latin"}
}

// checkScript refuses a text most of whose letters the language does not use:
// a voice would spell them or make noises. No language is every language.
func checkScript(text, lang string) error {
	if lang == "" {
		return nil
	}
	tags := strings.Split(strings.ToLower(strings.ReplaceAll(lang, "_", "-")), "-")
	allowed := scriptsOf(tags[0])
	if slices.ContainsFunc(tags[1:], func(t string) bool { return t == "latn" || t == "latin" || t == "pinyin" }) {
		allowed = []string{"Latin"}
	}
	fit, strange := 0, 0
	var stranger rune
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) || unicode.In(r, unicode.Common, unicode.Inherited):
		case slices.ContainsFunc(allowed, func(s string) bool { return unicode.Is(unicode.Scripts[s], r) }):
			fit++
		default:
			strange++
			stranger = r
		}
	}
	if strange <= fit {
		return nil
	}
	return refuse(ReasonScriptMismatch, "%d of %d letters are not %s, which %s is written in, but %s as %q",
		strange, fit+strange, strings.Join(allowed, " or "), lang, scriptOf(stranger), stranger)
}

func scriptOf(r rune) string {
	for _, name := range slices.Sorted(maps.Keys(unicode.Scripts)) {
		if unicode.Is(unicode.Scripts[name], r) {
			return name
		}
	}
	return "of no script"
}
