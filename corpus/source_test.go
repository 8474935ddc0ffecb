package corpus

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, s)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t testing.TB, s string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(s), nil)
}

func TestCompressed(t *testing.T) {
	const content = "\ufeffid,text\r\n1,one\r\n2,two\r\n"
	plain := func(_ testing.TB, s string) []byte { return []byte(s) }
	tests := []struct {
		name string
		pack func(testing.TB, string) []byte
	}{
		{"c.csv.gz", gzipped}, {"C.CSV.GZIP", gzipped}, {"c.csv.zst", zstded}, {"c.csv.zstd", zstded},
		{"c.csv", gzipped}, {"c", zstded}, {"c.gz", zstded}, {"c.csv.gz", plain},
		{"two.csv.gz", func(t testing.TB, s string) []byte { // as cat a.gz b.gz makes it
			return append(gzipped(t, s[:20]), gzipped(t, s[20:])...)
		}},
		{"skippable.csv.zst", func(t testing.TB, s string) []byte {
			return append([]byte("\x50\x2a\x4d\x18\x01\x00\x00\x00x"), zstded(t, s)...)
		}},
	}
	for _, tt := range tests {
		r, lines, bad := read(t, tt.name, "", string(tt.pack(t, content)))
		if r.Format() != CSV || len(bad) > 0 || len(lines) != 2 || lines[1] != (Line{Number: 3, ID: "2", Text: "two"}) {
			t.Errorf("%s: %s %v %v", tt.name, r.Format(), lines, bad)
		}
	}
}

func TestTruncated(t *testing.T) {
	var s strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&s, "text number %d, %x\n", i, i*i*2654435761)
	}
	for _, cut := range []int{1, 5, 1000} {
		testTruncated(t, cut, map[string][]byte{
			"small.txt.gz": gzipped(t, "one\ntwo\nthree\n"), "small.txt.zst": zstded(t, "one\ntwo\nthree\n"),
			"big.txt.gz": gzipped(t, s.String()), "big.txt.zst": zstded(t, s.String()),
		})
	}
}

func testTruncated(t *testing.T, cut int, files map[string][]byte) {
	for name, packed := range files {
		if cut >= len(packed) {
			continue
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, packed[:len(packed)-cut], 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Options{})
		if err != nil {
			if strings.HasPrefix(name, "small") && strings.Contains(err.Error(), "unexpected EOF") {
				continue // too short for a first line
			}
			t.Fatal(err)
		}
		lines, bad, err := drain(r)
		want := fmt.Sprintf("stopped after line %d,", len(lines))
		if len(bad) > 0 || err == io.EOF || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %d lines, bad %v, %v", name, len(lines), bad, err)
		}
		if _, again := r.Next(); again != err {
			t.Errorf("%s: then %v", name, again)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTruncatedCSV cuts a file inside a quoted field: the lines that were
// looked at come before the error.
func TestTruncatedCSV(t *testing.T) {
	content := "id,text\n1,\"open\n2,fine\n"
	src, err := newSource(".csv", io.MultiReader(strings.NewReader(content), brokenReader{}))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{name: "broken"}
	if err := r.start(src); err != nil {
		t.Fatal(err)
	}
	lines, bad, err := drain(r)
	if len(lines) != 1 || len(bad) != 1 || bad[0] != "2 bad-csv" || !strings.Contains(err.Error(), "after line 3") {
		t.Errorf("%v %v %v", lines, bad, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStdin(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("id,text,path\n1,one,a.wav\n"); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = stdin }()
	r, lines, _ := readPath(t, "-", "")
	if r.Format() != CSV || len(lines) != 1 || lines[0].Audio != "a.wav" {
		t.Errorf("%s %v", r.Format(), lines)
	}
	if err := in.Close(); err != nil {
		t.Errorf("the reader closed standard input: %v", err)
	}
}

// repeat is an endless supply of one record, n times.
type repeat struct {
	record string
	n, at  int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	c := copy(p, r.record[r.at:])
	if r.at += c; r.at == len(r.record) {
		r.at = 0
		r.n--
	}
	return c, nil
}

// TestConstantMemory reads a corpus of 1,000,000 lines, some of them bad, and
// looks at the heap along the way.
func TestConstantMemory(t *testing.T) {
	const (
		million = 1_000_000
		allowed = 4 << 20
	)
	record := "1,\"a text, of\nusual length\"\n2,\"never closed\n3,\n4,\xff\n" +
		strings.Repeat("5,good\n", 95)
	feed := io.MultiReader(strings.NewReader("id,text\n"), &repeat{record: record, n: million / 100})
	src, err := newSource(".csv", feed)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{}
	if err := r.start(src); err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	base, good, bad := heap(), 0, 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			good++
		} else if _, ok := err.(*BadLine); ok {
			bad++
		} else {
			t.Fatal(err)
		}
		if (good+bad)%250_000 == 0 {
			if now := heap(); now > base+allowed {
				t.Fatalf("%d bytes of heap after %d records, %d at the start", now, good+bad, base)
			}
		}
	}
	if good != million/100*96 || bad != million/100*3 {
		t.Errorf("%d good, %d bad", good, bad)
	}
}
