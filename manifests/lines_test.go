package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// some is n rejects, more than are encoded or decoded by one goroutine.
func some(n int) []Reject {
	all := make([]Reject, n)
	for i := range all {
		all[i] = Reject{Line: i + 1, Stage: StageText, Reason: "r", Text: strings.Repeat("<é>", i%50)}
	}
	return all
}

// TestBulkWriter holds it to the Writer, and what is read back to what was
// written.
func TestBulkWriter(t *testing.T) {
	for _, n := range []int{0, 1, bulkLines - 1, bulkLines, bulkLines + 1, 20*bulkLines + 7} {
		all := some(n)
		var want, got bytes.Buffer
		slow, fast := NewWriter(&want), NewBulkWriter(&got)
		for i := range all {
			if err := errors.Join(slow.Write(&all[i]), fast.Write(&all[i])); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(fast.Close(), fast.Close()); err != nil || fast.Lines() != n {
			t.Errorf("%d lines: %d, %v", n, fast.Lines(), err)
		}
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Errorf("%d lines: they differ from the writer's", n)
		}
		i := 0
		for r, err := range Rejects(&got, "x") {
			if err != nil || fmt.Sprint(r) != fmt.Sprint(all[i]) {
				t.Fatalf("line %d of %d: %+v, %v", i+1, n, r, err)
			}
			i++
		}
		if i != n {
			t.Errorf("%d of %d lines were read", i, n)
		}
	}
}

// full refuses to take more than some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestBulkWriterKeepsItsError(t *testing.T) {
	all := some(40 * bulkLines)
	for name, lines := range map[string]int{"while writing": len(all), "when closed": 1} {
		w := NewBulkWriter(&full{left: 10})
		for i := range all[:lines] {
			_ = w.Write(&all[i])
		}
		if err := w.Close(); err == nil || err.Error() != "disk full" {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := NewBulkWriter(&full{left: 1 << 30})
	_ = w.Write(func() {})
	if err := w.Close(); err == nil {
		t.Error("a function was written as JSON")
	}
}

// TestLinesStop wants everything before a bad line, then its error by number, and
// nothing read any more when the caller has had enough.
func TestLinesStop(t *testing.T) {
	var text strings.Builder
	w := NewWriter(&text)
	all := some(3*portionLines + 5)
	for i := range all {
		if err := w.Write(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(text.String(), "\n")
	for _, bad := range []int{0, portionLines - 1, portionLines, 2*portionLines + 7} {
		in := strings.Join(lines[:bad], "") + "{\"line\":1}\n" + strings.Join(lines[bad:], "")
		n := 0
		var last error
		for _, err := range Rejects(strings.NewReader(in), "file") {
			if last = err; err == nil {
				n++
			}
		}
		if want := fmt.Sprintf("file, line %d: ", bad+1); n != bad || last == nil || !strings.HasPrefix(last.Error(), want) {
			t.Errorf("bad line %d: %d lines, then %v", bad+1, n, last)
		}
	}
	r := &endless{text: lines[0]}
	for range Rejects(r, "endless") {
		break
	}
	r.reads = 0 // the race detector finds who still reads
	long := strings.NewReader(text.String() + strings.Repeat("x", maxLine+1))
	n := 0
	for _, err := range Rejects(long, "long") {
		if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("after line %d", len(all))) {
			t.Error(err)
		}
		n++
	}
	if n != len(all)+1 {
		t.Errorf("%d of %d lines before one that is too long", n-1, len(all))
	}
}

// endless gives the same line for ever.
type endless struct {
	text  string
	reads int
}

func (e *endless) Read(p []byte) (int, error) {
	e.reads++
	n := copy(p, e.text)
	if n < len(e.text) {
		n = copy(p, "\n") // too small for a line: give an empty rest
	}
	return n, nil
}

// FuzzOneDecoder compares the reading of lines with a decoder for all of them with
// one for each.
func FuzzOneDecoder(f *testing.F) {
	const line = `{"line":1,"stage":"text","reason":"r"}`
	for _, s := range []string{
		"", "\n", line, line + "\n" + line, line + " \t\r\n" + line + "\n", line + line, line + "\n" + line + "x\n" + line, line + "\n\n" + line,
		line + "\n" + `{"line":2,"stage":"text"`, "null\n1", line + "\n" + `{"stage":"text","reason":"r","other":1}`, line + "\n]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []Reject
		wrong := 0 // the first line that is none
		scanner := bufio.NewScanner(strings.NewReader(text))
		for n := 1; wrong == 0 && scanner.Scan(); n++ {
			var r Reject
			dec := json.NewDecoder(bytes.NewReader(scanner.Bytes()))
			dec.DisallowUnknownFields()
			if dec.Decode(&r) != nil || r.validate() != nil || len(bytes.TrimSpace(scanner.Bytes()[dec.InputOffset():])) > 0 {
				wrong = n
				break
			}
			want = append(want, r)
		}
		var got []Reject
		var end error
		for r, err := range Rejects(strings.NewReader(text), "x") {
			if end = err; err == nil {
				got = append(got, r)
			}
		}
		if scanner.Err() != nil { // a line that is too long for it
			return
		}
		if !reflect.DeepEqual(got, want) || (end != nil) != (wrong > 0) {
			t.Fatalf("%q: %+v and %v, want %+v and line %d", text, got, end, want, wrong)
		}
		if wrong > 0 && !strings.HasPrefix(end.Error(), fmt.Sprintf("x, line %d: ", wrong)) {
			t.Errorf("%q: %v, want line %d", text, end, wrong)
		}
	})
}
