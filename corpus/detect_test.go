package corpus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"a.txt", `{"text":"x"}`, Txt},
		{"A.TXT", "id,text\n", Txt},
		{"a.csv", "id,text\n1,x\n", CSV},
		{"a.csv", "\"id\", \"Sentence\" \n1,x\n", CSV},
		{"metadata.csv", "a|b, c|d\n", LJSpeech},
		{"a.csv.gz", "a|b\n", LJSpeech}, // the extension alone does not make it gzip
		{"a.csv", "text,x|y\n1,2\n", CSV},
		{"a.tsv", "id\ttext\n", TSV},
		{"a.tsv", "client_id\tpath\tsentence\n", CommonVoice},
		{"a.jsonl", `{"text":"x"}`, JSONL},
		{"a.json", `{"audio_filepath":"x","text":"y"}`, NeMo},
		{"a.ndjson", "{oops\n" + `{"audio_filepath":"x","text":"y"}`, NeMo},
		{"a.jsonl", "{oops", JSONL},
		{"a.jsonl", "\n\n" + `{"transcript":"x"}`, JSONL},
		{"a", `{"text":"x"}`, JSONL},
		{"a.zst", `{"text":"x","audio_filepath":"p"}`, NeMo},
		{"a.list", "id\ttext\n", TSV},
		{"a.list", "client_id\tpath\tsentence\n", CommonVoice},
		{"a.list", "id,text\n", CSV},
		{"a.list", "text\n", Txt},
		{"a.list", "a|b|c\n", Txt},
		{"a.list", "Hello, world\n", Txt},
		{"a.list", "\ufeffid,transcript\n", CSV},
	}
	for _, tt := range tests {
		r, _, _ := read(t, tt.name, "", tt.content)
		if r.Format() != tt.want {
			t.Errorf("%s %q: got %s, want %s", tt.name, tt.content, r.Format(), tt.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct{ name, format, content, want string }{
		{"a.txt", "", "", "corpus is empty"},
		{"a.txt", "", "\ufeff", "corpus is empty"},
		{"a.csv", "", "\n\n", "corpus is empty"},
		{"a.tsv", "", "\n\n", "corpus is empty"},
		{"a.txt", "xml", "x", "unknown corpus format \"xml\": use one of auto, txt, csv"},
		{"a.txt", Wavs, "x", "wants a folder"},
		{"a.txt", "", "\xff\xfeh\x00i\x00", "iconv -f UTF-16 "},
		{"a.txt", "", "\xfe\xff\x00h\x00i", "iconv -f UTF-16 "},
		{"a.txt", "", "h\x00i\x00", "looks binary"},
		{"a.txt", "", "PK\x03\x04\x00\x00", "a zip archive: unpack it"},
		{"a.wav", "", "RIFF\x00\x00\x00\x00WAVE", "a wav: give its folder"},
		{"a.tar", "", "name" + strings.Repeat("\x00", 253) + "ustar\x0000", "a tar archive"},
		{"a.csv", "", "id,body\n1,x\n", `found: "id", "body"): name one of the columns text`},
		{"a.csv", "", "This is a plain text line, really\n", "--format txt"},
		{"a.csv", "", "id\ttext\n", "--format tsv"},
		{"a.tsv", "", "id,text\n", "--format csv"},
		{"a.csv", "", "id;text\n", "with commas"},
		{"a.csv", "", "id|text\na|b\n", "remove the header line"},
		{"a.csv", "", "id,\"text\n1,x\n", "the header cannot be read: line 1: bad-csv"},
		{"a.csv", "", "id,\xff,text\n", "the header cannot be read: line 1: invalid-utf8"},
		{"a.tsv", "", "id\t\xff\ttext\n", "the header cannot be read: line 1: invalid-utf8"},
		{"a.tsv", "", "text" + strings.Repeat("x", maxLine) + "\n", "the header cannot be read: line 1: too-long"},
		{"a.tsv", CommonVoice, "id\tsentence\n", "no column path"},
		{"a.tsv", CommonVoice, "path\ttext\n", "no column sentence"},
		{"a.jsonl", "", `{"id":1,"body":"x"}`, "found: body, id"},
		{"a.json", "", `[{"text":"x"}]`, "jq -c '.[]'"},
		{"a.json", "", "{\n\"text\":\"x\"}", "jq -c ."},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(path, []byte(tt.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, Options{Format: tt.format})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.40q: got %v, want %s", tt.name, tt.content, err, tt.want)
		}
	}
}

func TestOpenMissing(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "nothing.txt"), Options{})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "check the path") {
		t.Errorf("got %v", err)
	}
}

func TestFormatNames(t *testing.T) {
	for _, name := range append(Formats(), "", "auto", " CSV ") {
		if _, err := formatName(name); err != nil {
			t.Error(err)
		}
	}
}
