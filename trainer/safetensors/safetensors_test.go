package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file is one of the header and so many bytes of data.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// of is a source of these bytes.
func of(name string, d DType, shape []int, data ...byte) Source {
	return Source{name, d, shape, func(w io.Writer) error { _, err := w.Write(data); return err }}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, "0 bytes"},
		{make([]byte, 7), "7 bytes"},
		{binary.LittleEndian.AppendUint64(nil, 1<<62), "claims"},
		{binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "claims"},
		{binary.LittleEndian.AppendUint64(nil, 90_000_000), "claims"},
		{file("[]", 0), "header"},
		{file(`{"a":1}`, 0), "a:"},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7), "bytes 0 to 8 of 7"},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "bytes 8 to 0"},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, 8), "bytes -8"},
		{file(`{"a":{"dtype":"new","shape":[2],"data_offsets":[0,9]}}`, 8), "bytes 0 to 9"},
		{file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "needs 12 bytes"},
		{file(`{"a":{"dtype":"I64","shape":[3],"data_offsets":[0,8]}}`, 8), "needs 24 bytes"},
		{file(`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), "shape"},
		{file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0), "shape"},
		{file(`{"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,8]}}`, 8), "shape"},
	} {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path+" is not a whole safetensors file") {
			t.Errorf("%.60q: %v, want %q", c.data, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// The bytes of a file, written out: they must never change.
func TestWriteBytes(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, map[string]string{"format": "pt"}, []Source{
		of("bb", U8, []int{3}, 7, 8, 9), of("a", F32, nil, 1, 2, 3, 4), of("/c", I16, []int{0, 2}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "\xc8\x00\x00\x00\x00\x00\x00\x00" +
		`{"/c":{"dtype":"I16","shape":[0,2],"data_offsets":[0,0]},"__metadata__":{"format":"pt"},` +
		`"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"bb":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}}       ` +
		"\x01\x02\x03\x04\x07\x08\x09"
	if b.String() != want {
		t.Errorf("%q\nwant\n%q", b.String(), want)
	}
}

func TestRoundTrip(t *testing.T) {
	var sources []Source
	data := map[string][]byte{}
	for _, d := range []DType{F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool} {
		name := "of." + string(d)
		for i := range 6 * d.Size() {
			data[name] = append(data[name], byte(i))
		}
		sources = append(sources, of(name, d, []int{2, 3}, data[name]...))
	}
	sources = append(sources, of("empty", F32, []int{4, 0}), of("scalar", U8, nil, 9))
	data["empty"], data["scalar"] = nil, []byte{9}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	var b bytes.Buffer
	if err := Write(&b, map[string]string{"a": "b"}, sources); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := f.Metadata(); err != nil || len(m) != 1 || m["a"] != "b" {
		t.Errorf("metadata %v, %v", m, err)
	}
	if f.start%8 != 0 || len(f.Names()) != len(sources) || !slices.IsSorted(f.Names()) {
		t.Errorf("data at %d of %v", f.start, f.Names())
	}
	for _, s := range sources {
		e, ok := f.Entry(s.Name)
		if !ok || e.DType != s.DType || !slices.Equal(e.Shape, s.Shape) {
			t.Errorf("%s is %v, %v", s.Name, e, ok)
		}
		got := make([]byte, e.Bytes())
		if err := f.Read(s.Name, got); err != nil || !bytes.Equal(got, data[s.Name]) {
			t.Errorf("%s: %v, want %v, error %v", s.Name, got, data[s.Name], err)
		}
	}
	if err := f.Read("none", nil); err == nil || !strings.Contains(err.Error(), path+" has no tensor none") {
		t.Errorf("a tensor that is not there: %v", err)
	}
	if err := f.Read("scalar", nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a scalar in no bytes: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Read("scalar", make([]byte, 1)); !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), path+": scalar") {
		t.Errorf("a closed file: %v", err)
	}
}

// Metadata of another kind spoils no tensors: only who asks for it is refused.
func TestOtherMetadata(t *testing.T) {
	for text, bad := range map[string]bool{`{}`: false, `{"__metadata__":null}`: false, `{"__metadata__":{"a":1}}`: true, `{"__metadata__":3}`: true} {
		data := file(text, 0)
		f, err := NewFile("x", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Metadata()
		if m != nil && !bad || (err != nil) != bad || bad && !strings.HasPrefix(err.Error(), "x is not") {
			t.Errorf("%s: %v, %v", text, m, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	failed := errors.New("no")
	for _, c := range []struct {
		sources []Source
		want    string
	}{
		{[]Source{of("a", U8, nil, 1), of("a", U8, nil, 2)}, "tensor a: the name is taken"},
		{[]Source{of(metadataKey, U8, nil, 1)}, "is taken"},
		{[]Source{of("a", "X8", nil, 1)}, `type "X8" cannot be written`},
		{[]Source{of("a", U8, []int{-1})}, "shape [-1]"},
		{[]Source{of("a", U16, []int{2}, 1, 2, 3)}, "U16 [2] needs 4 bytes and 3 were written"},
		{[]Source{of("a", U8, nil, 1, 2)}, "needs 1 bytes and 2 were written"},
		{[]Source{{Name: "a", DType: U8, Write: func(io.Writer) error { return failed }}}, "tensor a: no"},
	} {
		if err := Write(io.Discard, nil, c.sources); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if err := Write(full{}, nil, nil); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}

var errFull = errors.New("no room")

// full is a writer that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
