package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// read makes a corpus file of content and reads it to its end. Bad lines are
// given as "number reason", followed by the id if there is one.
func read(t *testing.T, name, format, content string) (r *Reader, lines []Line, bad []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return readPath(t, path, format)
}

func readPath(t *testing.T, path, format string) (r *Reader, lines []Line, bad []string) {
	t.Helper()
	r, err := Open(path, Options{Format: format})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	lines, bad, err = drain(r)
	if err != io.EOF {
		t.Fatal(err)
	}
	return r, lines, bad
}

func drain(r *Reader) (lines []Line, bad []string, err error) {
	for {
		l, err := r.Next()
		if b, ok := errors.AsType[*BadLine](err); ok {
			bad = append(bad, strings.TrimSpace(fmt.Sprint(b.Number, " ", b.Reason, " ", b.ID)))
			continue
		}
		if err != nil {
			return lines, bad, err
		}
		lines = append(lines, l)
	}
}

func TestSamples(t *testing.T) {
	texts := []string{
		"Printing, in the only sense with which we are concerned.",
		`She said "no" twice.`,
		"Größe und Maß: naïve café, 東京.",
	}
	tests := []struct {
		file, format, lang string
		first              int
		id, audio          bool
	}{
		{"sample.txt", Txt, "", 1, false, false},
		{"sample.csv", CSV, "en", 2, true, true},
		{"sample.tsv", TSV, "en", 2, true, true},
		{"sample.jsonl", JSONL, "en", 1, true, true},
		{"manifest.json", NeMo, "en", 1, true, true},
		{"metadata.csv", LJSpeech, "", 1, true, true},
		{"validated.tsv", CommonVoice, "en", 2, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			r, got, bad := readPath(t, filepath.Join("testdata", tt.file), "auto")
			if r.Format() != tt.format || len(bad) > 0 || len(got) != len(texts) {
				t.Fatalf("format %s, lines %v, bad %v", r.Format(), got, bad)
			}
			for i, text := range texts {
				want := Line{Number: tt.first + i, Text: text, Lang: tt.lang}
				if tt.id {
					want.ID = fmt.Sprint("s", i+1)
				}
				if tt.audio {
					want.Audio = filepath.Join("testdata", "wavs", want.ID+".wav")
				}
				if got[i] != want {
					t.Errorf("got %+v, want %+v", got[i], want)
				}
			}
		})
	}
}

func TestRecords(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := []struct {
		name, format, content string
		want                  []Line // Audio relative to the corpus
		bad                   []string
	}{
		{"txt with blanks, CR and bad bytes", Txt, "\ufeff one \r\n\r\na\rb\n \t\nna\xefve\nlast",
			[]Line{{Number: 1, Text: "one"}, {Number: 3, Text: "a\rb"}, {Number: 6, Text: "last"}},
			[]string{"2 empty", "4 empty", "5 invalid-utf8"}},
		{"txt with a NUL among good lines", Txt, "a good line\nb\x00\nanother good line\n",
			[]Line{{Number: 1, Text: "a good line"}, {Number: 3, Text: "another good line"}},
			[]string{"2 nul-byte"}},
		{"txt at the length cap", Txt, long + "\r\n" + long + "y\n" + strings.Repeat(long, 3) + "\nz\n",
			[]Line{{Number: 1, Text: long}, {Number: 4, Text: "z"}},
			[]string{"2 too-long", "3 too-long"}},
		{"csv with every column", CSV, "voice,TEXT,Id,locale,pitch,speed,audio_filepath,note\n" +
			"v,hello,7,de,-2.5,1.25,a/b.wav,n\n" + "v,hi,8,,,,/abs.wav,\n",
			[]Line{{Number: 2, ID: "7", Text: "hello", Lang: "de", Voice: "v", Speed: 1.25, Pitch: -2.5, Audio: "a/b.wav"},
				{Number: 3, ID: "8", Text: "hi", Voice: "v", Audio: "/abs.wav"}}, nil},
		{"csv numbers", CSV, "id,text,speed,pitch\na,t,fast,\nb,t,-1,\nc,t,0,\nd,t,NaN,\ne,t,1e999,\nf,t,1,Inf\ng,t,1,1\n",
			[]Line{{Number: 8, ID: "g", Text: "t", Speed: 1, Pitch: 1}},
			[]string{"2 bad-number a", "3 bad-number b", "4 bad-number c", "5 bad-number d", "6 bad-number e", "7 bad-number f"}},
		{"csv prefers text to sentence", CSV, "sentence,text\ns,t\n", []Line{{Number: 2, Text: "t"}}, nil},
		{"csv faults", CSV, "\nid,text\n\n1\n1,2,3\n4,\n5,\xff\n6,ok\n",
			[]Line{{Number: 8, ID: "6", Text: "ok"}},
			[]string{"3 empty", "4 field-count", "5 field-count", "6 empty 4", "7 invalid-utf8 5"}},
		{"tsv quotes", TSV, "text\tid\n\"a \"\"b\"\"\"\t1\n\"a\" and \"b\"\t2\n\"\t3\n\"open\t4\n\"\"\t5\n6\n",
			[]Line{{Number: 2, ID: "1", Text: `a "b"`}, {Number: 3, ID: "2", Text: `"a" and "b"`},
				{Number: 4, ID: "3", Text: `"`}, {Number: 5, ID: "4", Text: `"open`}},
			[]string{"6 empty 5", "7 field-count"}},
		{"commonvoice keeps quotes", CommonVoice, "client_id\tpath\tsentence\tlocale\nc\tx_1.mp3\t\"q\"\tnl\nc\tx_2.wav\tt\tnl\nc\tx_3.mp3\t \tnl\nc\n",
			[]Line{{Number: 2, ID: "x_1", Text: `"q"`, Lang: "nl"}, {Number: 3, ID: "x_2", Text: "t", Lang: "nl", Audio: "clips/x_2.wav"}},
			[]string{"4 empty x_3", "5 field-count"}},
		{"ljspeech", LJSpeech, "a|raw|norm\nb|raw\nc|raw| \nd\ne|1|2|3\nf||\n\n",
			[]Line{{Number: 1, ID: "a", Text: "norm", Audio: "wavs/a.wav"}, {Number: 2, ID: "b", Text: "raw", Audio: "wavs/b.wav"},
				{Number: 3, ID: "c", Text: "raw", Audio: "wavs/c.wav"}},
			[]string{"4 field-count", "5 field-count", "6 empty f", "7 empty"}},
		{"jsonl", JSONL, `{"id":12,"Text":" t ","voice":3,"speed":"1.5","pitch":-1}` + "\n" +
			`{"sentence":"s","text":null,"id":null,"unknown":{"text":1}}` + "\n" + `{"id":"x","speed":1}` + "\n" +
			`{"id":"y","text":5}` + "\n" + `{"text":"t"` + "\n" + `["text"]` + "\nnull\n" + `{"text":"a","lang":{}}` + "\n" +
			`{"id":"n","text":"a\u0000b"}` + "\n" + `{"id":"e","text":" "}` + "\n" + `{"id":"s","text":"t","speed":"fast"}` + "\n" +
			`{"text":"t"} {"text":"u"}` + "\n" + `{"text":"t","audio":true}` + "\n\n",
			[]Line{{Number: 1, ID: "12", Text: "t", Voice: "3", Speed: 1.5, Pitch: -1}, {Number: 2, Text: "s"}},
			[]string{"3 no-text-field x", "4 no-text-field y", "5 bad-json", "6 bad-json", "7 no-text-field", "8 bad-json",
				"9 nul-byte n", "10 empty e", "11 bad-number s", "12 bad-json", "13 bad-json", "14 empty"}},
		{"nemo", NeMo, `{"audio_filepath":"w/a.wav","text":"t","duration":1}` + "\n" + `{"id":"b","text":"t"}` + "\n" + `{"audio_filepath":"c.wav"}` + "\n",
			[]Line{{Number: 1, Text: "t", Audio: "w/a.wav"}}, []string{"2 no-audio-field b", "3 no-text-field"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, got, bad := read(t, "corpus", tt.format, tt.content)
			for i := range got {
				if rel, err := filepath.Rel(r.folder, got[i].Audio); err == nil && !strings.HasPrefix(rel, "..") {
					got[i].Audio = rel
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("lines\n got %.300v\nwant %.300v", got, tt.want)
			}
			if !slices.Equal(bad, tt.bad) {
				t.Errorf("bad\n got %q\nwant %q", bad, tt.bad)
			}
		})
	}
}

func TestNextAfterEnd(t *testing.T) {
	r, _, _ := read(t, "a.txt", "", "x\n")
	for range 2 {
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("got %v, want EOF again", err)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestBadLineDetail(t *testing.T) {
	tests := []struct{ format, content, want string }{
		{Txt, "ab\xe9c\nd\n", "line 1: invalid-utf8: byte 0xE9 at position 3"},
		{CSV, "id,text\n1,2,3\n", "line 2: field-count: 3 fields, the header has 2"},
		{CSV, "id,text\n1,\"a\n", "line 2: bad-csv: the quote opened on line 2 is never closed"},
		{CSV, "id,text\n1,\"a\"b\n", "line 2: bad-csv: a quote at position 5"},
		{CSV, "id,text,speed\nk,t,fast\n", `line 2 (k): bad-number: speed "fast" is not a number`},
		{LJSpeech, "a|b|c|d|e\n", "line 1: field-count: 5 fields"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "c")
		if err := os.WriteFile(path, []byte(tt.content), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Options{Format: tt.format})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Next()
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
