package corpus

import (
	"fmt"
	"slices"
	"strings"
)

// The names of the formats, as Options.Format takes and Reader.Format gives
// them.
const (
	Txt         = "txt"
	CSV         = "csv"
	TSV         = "tsv"
	JSONL       = "jsonl"
	LJSpeech    = "ljspeech"
	NeMo        = "nemo"
	CommonVoice = "commonvoice"
	Wavs        = "wavs"
)

// Formats lists the names of all formats.
func Formats() []string {
	return []string{Txt, CSV, TSV, JSONL, LJSpeech, NeMo, CommonVoice, Wavs}
}

// formatName is the format asked for, "" meaning to detect it.
func formatName(name string) (string, error) {
	f := strings.ToLower(strings.TrimSpace(name))
	switch {
	case f == "" || f == "auto":
		return "", nil
	case slices.Contains(Formats(), f):
		return f, nil
	}
	return "", fmt.Errorf("unknown corpus format %q: use one of auto, %s", name, strings.Join(Formats(), ", "))
}
