package hf

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/x448/float16" // GoMLX's own loses values below 2⁻¹⁴
)

// DType is the type in which a file holds its values, by safetensors' names.
type DType string

// The types that weights are read from and written in.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	i32  DType = "I32" // only read, and only in tests' files
)

func (d DType) width() int {
	switch d {
	case F32, i32:
		return 4
	case F16, BF16:
		return 2
	}
	return 0
}

// maxHeader is the limit of the safetensors library itself.
const maxHeader = 100_000_000

// entry is one tensor of a header; the offsets count from the header's end.
type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// tensors is an open safetensors file.
type tensors struct {
	path    string
	file    io.ReaderAt
	start   int64 // of the data
	entries map[string]entry
}

// parse reads the header of a file of size bytes. Nothing that the header says
// is believed before it fits into the file.
func parse(path string, file io.ReaderAt, size int64) (*tensors, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s is not a whole safetensors file: %w", path, fmt.Errorf(format, args...))
	}
	var prefix [8]byte
	if size < int64(len(prefix)) {
		return nil, bad("it has %d bytes", size)
	}
	if _, err := file.ReadAt(prefix[:], 0); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader || int64(length) > size-int64(len(prefix)) {
		return nil, bad("its header claims %d bytes, and the file has %d", length, size)
	}
	header := make([]byte, length)
	if _, err := file.ReadAt(header, int64(len(prefix))); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, bad("header: %w", err)
	}
	delete(raw, "__metadata__")
	t := &tensors{path: path, file: file, start: int64(len(prefix)) + int64(length), entries: make(map[string]entry, len(raw))}
	for name, text := range raw {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, bad("%s: %w", name, err)
		}
		if err := e.check(size - t.start); err != nil {
			return nil, bad("%s: %w", name, err)
		}
		t.entries[name] = e
	}
	return t, nil
}

// check holds the entry to the bytes of data that the file has.
func (e entry) check(data int64) error {
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin || end > data {
		return fmt.Errorf("bytes %d to %d of %d", begin, end, data)
	}
	if e.DType.width() == 0 {
		return nil // a type of which we need no tensor
	}
	bytes := int64(e.DType.width())
	for _, d := range e.Shape {
		if d < 0 || d > 0 && bytes > math.MaxInt64/d {
			return fmt.Errorf("shape %v", e.Shape)
		}
		bytes *= d
	}
	if bytes != end-begin {
		return fmt.Errorf("%s %v needs %d bytes and has %d", e.DType, e.Shape, bytes, end-begin)
	}
	return nil
}

// shape is the entry's, as Go's tensors have it.
func (e entry) shape() []int {
	s := make([]int, len(e.Shape))
	for i, d := range e.Shape {
		s[i] = int(d)
	}
	return s
}

// floats reads a tensor as float32.
func (t *tensors) floats(name string) ([]float32, error) {
	e := t.entries[name]
	if w := e.DType; w != F32 && w != F16 && w != BF16 {
		return nil, fmt.Errorf("%s: %s is of type %s: only F32, F16 and BF16 are read", t.path, name, e.DType)
	}
	bytes := make([]byte, e.Offsets[1]-e.Offsets[0])
	if _, err := t.file.ReadAt(bytes, t.start+e.Offsets[0]); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.path, name, err)
	}
	values := make([]float32, len(bytes)/e.DType.width())
	for i := range values {
		switch e.DType {
		case F32:
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		case F16:
			values[i] = float16.Frombits(binary.LittleEndian.Uint16(bytes[2*i:])).Float32()
		case BF16:
			values[i] = bfloat16.FromBits(binary.LittleEndian.Uint16(bytes[2*i:])).Float32()
		}
	}
	return values, nil
}

// source is one tensor to be written.
type source struct {
	name   string
	shape  []int
	values func() ([]float32, error)
}

// write streams the sources, by name, as one safetensors file of the type.
func write(w io.Writer, sources []source, dtype DType) error {
	sources = slices.SortedFunc(slices.Values(sources), func(a, b source) int { return strings.Compare(a.name, b.name) })
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var offset int64
	for _, s := range sources {
		e := entry{DType: dtype, Shape: make([]int64, len(s.shape))}
		n := int64(dtype.width())
		for i, d := range s.shape {
			e.Shape[i] = int64(d)
			n *= int64(d)
		}
		end := offset + n
		e.Offsets = [2]int64{offset, end}
		header[s.name], offset = e, end
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 { // data begins aligned
		text = append(text, ' ')
	}
	if _, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); err != nil {
		return err
	}
	for _, s := range sources {
		if err := writeOne(w, s, dtype); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func writeOne(w io.Writer, s source, dtype DType) error {
	values, err := s.values()
	if err != nil {
		return err
	}
	bytes := make([]byte, 0, len(values)*dtype.width())
	for _, v := range values {
		switch dtype {
		case F32:
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
		case F16:
			bytes = binary.LittleEndian.AppendUint16(bytes, float16.Fromfloat32(v).Bits())
		case BF16:
			bytes = binary.LittleEndian.AppendUint16(bytes, bfloat16.FromFloat32(v).Bits())
		default:
			return fmt.Errorf("weights cannot be written as %q: use F32, F16 or BF16", dtype)
		}
	}
	_, err = w.Write(bytes)
	return err
}

// openTensors opens a file; close closes it.
func openTensors(path string) (t *tensors, close func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		t, err = parse(path, f, info.Size())
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return t, f.Close, nil
}
