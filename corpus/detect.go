package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// detect tells the format of a file by its extension and beginning. The rules
// are in the package comment.
func detect(ext string, head []byte) (string, error) {
	first := firstLine(head)
	switch ext {
	case ".txt", ".text":
		return Txt, nil
	case ".csv":
		return detectCSV(first)
	case ".tsv", ".tab":
		return detectTSV(first), nil
	case ".jsonl", ".ndjson", ".json":
		return detectJSON(head)
	}
	switch {
	case strings.HasPrefix(first, "{"):
		return detectJSON(head)
	case strings.Contains(first, "\t") && hasText(first, "\t"):
		return detectTSV(first), nil
	case strings.Contains(first, ",") && hasText(first, ","):
		return CSV, nil
	}
	return Txt, nil
}

func detectCSV(first string) (string, error) {
	switch {
	case hasText(first, ",") || !strings.Contains(first, "|"):
		return CSV, nil
	case hasText(first, "|"):
		return "", errors.New("columns are separated by '|' and have a header: " +
			"remove the header line and use --format ljspeech, or separate the columns by commas")
	}
	return LJSpeech, nil
}

func detectTSV(first string) string {
	names := headerNames(first, "\t")
	if slices.Contains(names, "client_id") && slices.Contains(names, "sentence") {
		return CommonVoice
	}
	return TSV
}

// detectJSON lets the first well-formed object decide: one bad line must not
// stop a batch, not even as its first line.
func detectJSON(head []byte) (string, error) {
	switch first := firstLine(head); {
	case strings.HasPrefix(first, "["):
		return "", errors.New("a JSON array, not JSON lines: convert it with: jq -c '.[]' IN > OUT")
	case first == "{":
		return "", errors.New("JSON objects over several lines: put each on its own with: jq -c . IN > OUT")
	}
	for line := range bytes.Lines(head) {
		var object map[string]json.RawMessage
		if json.Unmarshal(line, &object) != nil || object == nil {
			continue
		}
		names := make([]string, 0, len(object))
		for name := range object {
			names = append(names, strings.ToLower(name))
		}
		slices.Sort(names)
		if !slices.ContainsFunc(names, isTextName) {
			return "", fmt.Errorf("the first object has no field %s (found: %s): rename its text field",
				strings.Join(textNames, ", "), strings.Join(names, ", "))
		}
		if slices.Contains(names, "audio_filepath") {
			return NeMo, nil
		}
		return JSONL, nil
	}
	return JSONL, nil
}

// firstLine is the first line of head that is not blank, trimmed.
func firstLine(head []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	return string(bytes.TrimSpace(line))
}

// headerNames splits a header line roughly, to look for names in it.
func headerNames(line, separator string) []string {
	names := strings.Split(line, separator)
	for i, name := range names {
		names[i] = columnName(name)
	}
	return names
}

func hasText(line, separator string) bool {
	return slices.ContainsFunc(headerNames(line, separator), isTextName)
}
