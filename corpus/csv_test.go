package corpus

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCSVQuotes(t *testing.T) {
	many := strings.Repeat("more\n", maxRecordLines-2)
	tests := []struct {
		name, content string
		want, bad     []string // "number text"; "number reason"
	}{
		{"doubled quotes and commas", `1,"a ""b"", c"`, []string{`2 a "b", c`}, nil},
		{"line breaks", "1,\"a\r\n\r\nb\"\r\n2,c\r\n", []string{"2 a\n\nb", "5 c"}, nil},
		{"bare quotes are text", "1,5\" wide\n2,say \"hi\"\n", []string{`2 5" wide`, `3 say "hi"`}, nil},
		{"CR kept", "1,\"a\rb\"\n2,c\rd\n", []string{"2 a\rb", "3 c\rd"}, nil},
		{"never closed", "1,\"a\n2,b\n3,c\n", []string{"3 b", "4 c"}, []string{"2 bad-csv"}},
		{"never closed, quotes after", "1,\"a\n2,b\n3,\"c, d\"\n4,e\n", []string{"3 b", "4 c, d", "5 e"}, []string{"2 bad-csv"}},
		{"never closed, all quoted after", "\"1\",\"a\n\"2\",\"b\"\n", []string{"3 b"}, []string{"2 bad-csv"}},
		{"text after the quote", "1,\"a\" b\n2,c\n", []string{"3 c"}, []string{"2 bad-csv"}},
		{"twice never closed", "1,\"a\n2,\"b\n3,c\n", []string{"4 c"}, []string{"2 bad-csv", "3 bad-csv"}},
		{"closed by the last line allowed", "1,\"a\n" + many + "b\"\n2,c\n",
			[]string{"2 a\n" + many + "b", fmt.Sprint(2+maxRecordLines, " c")}, nil},
		{"closed one line too late", "1,\"a\n" + many + "more\nb\"\n2,c\n",
			[]string{fmt.Sprint(3+maxRecordLines, " c")}, slices.Concat([]string{"2 bad-csv"}, numberedReasons(3, maxRecordLines, FieldCount))},
		{"too many bytes", "1,\"a\n2,b" + strings.Repeat("x", maxRecordBytes) + "\n3,c\n\"\n",
			[]string{"3 b" + strings.Repeat("x", maxRecordBytes), "4 c"}, []string{"2 bad-csv", "5 bad-csv"}},
		{"too long inside", "1,\"a\n" + strings.Repeat("x", maxLine+1) + "\n3,c\"\n",
			[]string{"4 c\""}, []string{"2 bad-csv", "3 too-long"}},
		{"bad bytes inside", "1,\"a\n\xff\"\n3,c\n", []string{"4 c"}, []string{"2 invalid-utf8 1"}},
		{"fields after a break", "1,\"a\nb\",c\n3,d\n", []string{"4 d"}, []string{"2 field-count"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, lines, bad := read(t, "c.csv", "", "id,text\n"+tt.content)
			var got []string
			for _, l := range lines {
				got = append(got, fmt.Sprint(l.Number, " ", l.Text))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("lines\n got %.300q\nwant %.300q", got, tt.want)
			}
			if !slices.Equal(bad, tt.bad) {
				t.Errorf("bad\n got %.300q\nwant %.300q", bad, tt.bad)
			}
		})
	}
}

func numberedReasons(from, n int, reason string) []string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprint(from+i, " ", reason))
	}
	return s
}

// TestCSVTwin holds this reader equal to encoding/csv on what csv.Writer
// writes, which is well-formed.
func TestCSVTwin(t *testing.T) {
	pieces := []string{"a", "b c", ",", `"`, `""`, "\n", "\r", "é", "東", "\t", "|", "'", ";", "{"}
	crlf := regexp.MustCompile(`\r+\n`)
	rng := rand.New(rand.NewPCG(1, 2))
	field := func() string {
		s := "x" // neither blank nor trimmed
		for range rng.IntN(8) {
			s += pieces[rng.IntN(len(pieces))]
		}
		return crlf.ReplaceAllString(s, "\n") + "x" // encoding/csv drops a CR before LF
	}
	for range 50 {
		rows := [][]string{{"id", "text", "voice"}}
		for range rng.IntN(60) {
			rows = append(rows, []string{field(), field(), field()})
		}
		var s strings.Builder
		w := csv.NewWriter(&s)
		w.UseCRLF = rng.IntN(2) == 0
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		// With UseCRLF the Writer drops a lone CR inside a field: what
		// encoding/csv reads back is what counts.
		want, err := csv.NewReader(strings.NewReader(s.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		_, lines, bad := read(t, "twin.csv", CSV, s.String())
		if len(bad) > 0 || len(lines) != len(want)-1 {
			t.Fatalf("%d lines of %d, bad %v", len(lines), len(want)-1, bad)
		}
		for i, l := range lines {
			if got := []string{l.ID, l.Text, l.Voice}; !slices.Equal(got, want[i+1]) {
				t.Fatalf("got %q, want %q", got, want[i+1])
			}
			if !w.UseCRLF && !slices.Equal(want[i+1], rows[i+1]) {
				t.Fatalf("the twin itself lost something: %q of %q", want[i+1], rows[i+1])
			}
		}
	}
}

// FuzzCSVTwin takes any text that encoding/csv accepts, strictly, and wants the
// same fields.
func FuzzCSVTwin(f *testing.F) {
	f.Add("a,b\n")
	f.Add("\"a\"\"\r\n\",\"b\"\r\n")
	f.Add("\"\r\r\n\",\r\r\n\n\"\",\"\"")
	f.Fuzz(func(t *testing.T, content string) {
		strict := csv.NewReader(strings.NewReader(content))
		strict.FieldsPerRecord = -1
		want, err := strict.ReadAll()
		if err != nil || len(content) > maxRecordBytes/2 || strings.Count(content, "\n") >= maxRecordLines {
			t.Skip("not well-formed, or above the caps")
		}
		src, err := newSource("", strings.NewReader("text\n"+content))
		if err != nil {
			t.Fatal(err)
		}
		scan := &scanner{buf: src.buf}
		c := &csvRecords{scan: scan}
		if _, _, err := c.row(); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			row, _, err := c.row()
			for isBad(err, Empty) && strings.TrimSpace(strings.Join(w, "")) != "" {
				row, _, err = c.row()
			}
			if isBad(err, InvalidUTF8) || isBad(err, Empty) {
				t.Skip("a record that only this reader refuses")
			}
			if err != nil || !slices.Equal(row, w) {
				t.Fatalf("got %q, %v, want %q", row, err, w)
			}
		}
	})
}

func isBad(err error, reason string) bool {
	bad, ok := err.(*BadLine)
	return ok && bad.Reason == reason
}
