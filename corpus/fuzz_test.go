package corpus

import (
	"bytes"
	"io"
	"testing"
	"unicode/utf8"
)

// FuzzReader holds for any bytes in any format: the reading ends, line numbers
// increase, texts are UTF-8 and not blank, and there are no more records than
// lines.
func FuzzReader(f *testing.F) {
	formats := append(Formats(), "")
	for i := range formats {
		f.Add([]byte("one\r\n\ntwo\n"), uint8(i), ".csv")
		f.Add([]byte("\ufeffid,text,speed\n1,\"a\nb\",1\n2,\"c\n3,d,x\n"), uint8(i), ".csv")
		f.Add([]byte("client_id\tpath\tsentence\nc\tp.mp3\t\"s\n"), uint8(i), ".tsv")
		f.Add([]byte("{\"text\":\"\\u0000\",\"id\":1e9}\n{\"audio_filepath\":\"a\",\"text\":\"b\"}\n"), uint8(i), ".json")
		f.Add([]byte("a|b|c\n|\n\xff|x\n"), uint8(i), "")
		f.Add(gzipped(f, "text,id\na,b\n"), uint8(i), ".csv")
		f.Add(zstded(f, "text,id\na,b\n"), uint8(i), ".csv")
	}
	f.Fuzz(func(t *testing.T, data []byte, format uint8, ext string) {
		name := formats[int(format)%len(formats)]
		if name == Wavs {
			t.Skip("a folder, not bytes")
		}
		src, err := newSource(ext, bytes.NewReader(data))
		if err != nil {
			return
		}
		plain := !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) && !isZstd(data[:min(4, len(data))])
		r := &Reader{name: "fuzz", format: name}
		if r.start(src) != nil {
			return
		}
		last, records := 0, 0
		for {
			l, err := r.Next()
			number := l.Number
			if bad, ok := err.(*BadLine); ok {
				number = bad.Number
				if bad.Reason == "" {
					t.Fatalf("line %d: no reason", number)
				}
			} else if err != nil {
				if err == io.EOF || !plain {
					break
				}
				t.Fatal(err)
			} else if l.Text == "" || !utf8.ValidString(l.Text) {
				t.Fatalf("line %d: text %q", number, l.Text)
			}
			if number <= last {
				t.Fatalf("line %d after %d", number, last)
			}
			last = number
			records++
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; plain && (records > lines || last > lines) {
			t.Fatalf("%d records, the last on line %d, of %d lines", records, last, lines)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
