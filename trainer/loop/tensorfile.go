package loop

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// A checkpoint's file is in the safetensors format: the length of a header, the
// header in JSON, the bytes of the tensors. Any tool can look into it.

// maxHeader bounds what a damaged file can make a reader allocate.
const maxHeader = 64 << 20

const metadataKey = "__metadata__"

// fileTypes are the format's names of the types that a store holds.
var fileTypes = map[string]dtypes.DType{
	"F64": dtypes.Float64, "F32": dtypes.Float32, "F16": dtypes.Float16, "BF16": dtypes.BFloat16,
	"I64": dtypes.Int64, "I32": dtypes.Int32, "I16": dtypes.Int16, "I8": dtypes.Int8,
	"U64": dtypes.Uint64, "U32": dtypes.Uint32, "U16": dtypes.Uint16, "U8": dtypes.Uint8, "BOOL": dtypes.Bool,
}

// place is where a tensor lies in the file.
type place struct {
	Type    string   `json:"dtype"`
	Dims    []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// tensor is a named value.
type tensor struct {
	name  string
	value *tensors.Tensor
}

// writeTensors writes values with metadata, in the order of their names.
func writeTensors(w io.Writer, metadata map[string]string, values []tensor) error {
	values = slices.SortedFunc(slices.Values(values), func(a, b tensor) int { return strings.Compare(a.name, b.name) })
	header := map[string]any{metadataKey: metadata}
	var end int64
	for _, t := range values {
		shape := t.value.Shape()
		kind := ""
		for name, d := range fileTypes {
			if d == shape.DType {
				kind = name
			}
		}
		if kind == "" {
			return fmt.Errorf("variable %s: type %s cannot be saved", t.name, shape.DType)
		}
		size := int64(shape.ByteSize())
		header[t.name] = place{Type: kind, Dims: append([]int{}, shape.Dimensions...), Offsets: [2]int64{end, end + size}}
		end += size
	}
	b, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...)); err != nil {
		return err
	}
	for _, t := range values {
		if err := writeValue(out, t); err != nil {
			return err
		}
	}
	return out.Flush()
}

// writeValue brings a tensor from its device, and leaves no copy on this side.
func writeValue(w io.Writer, t tensor) error {
	had := t.value.HasLocal()
	var failed error
	err := t.value.ConstBytes(func(b []byte) { _, failed = w.Write(b) })
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("variable %s: %w", t.name, err)
	}
	if !had && t.value.IsOnAnyDevice() && !t.value.IsShared() {
		t.value.FinalizeLocal()
	}
	return nil
}

// readHeader reads what comes before the bytes of the tensors, and where they
// begin.
func readHeader(r io.Reader, size int64) (metadata map[string]string, places map[string]place, start int64, err error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, nil, 0, fmt.Errorf("no header: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, nil, 0, fmt.Errorf("a header of %d bytes in a file of %d: it is damaged or no checkpoint", n, size)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, nil, 0, fmt.Errorf("header: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, nil, 0, fmt.Errorf("header: %w", err)
	}
	if m, ok := raw[metadataKey]; ok {
		if err := json.Unmarshal(m, &metadata); err != nil {
			return nil, nil, 0, fmt.Errorf("header: %w", err)
		}
		delete(raw, metadataKey)
	}
	start = 8 + int64(n)
	places = make(map[string]place, len(raw))
	for name, m := range raw {
		var p place
		if err := json.Unmarshal(m, &p); err != nil {
			return nil, nil, 0, fmt.Errorf("tensor %q: %w", name, err)
		}
		if err := p.check(size - start); err != nil {
			return nil, nil, 0, fmt.Errorf("tensor %q: %w", name, err)
		}
		places[name] = p
	}
	return metadata, places, start, nil
}

// check refuses a place that lies outside of the file or does not fit its shape.
func (p place) check(room int64) error {
	d, ok := fileTypes[p.Type]
	if !ok {
		return fmt.Errorf("unknown type %q", p.Type)
	}
	size := int64(d.Size())
	for _, n := range p.Dims {
		if n < 0 || (n > 0 && size > room/int64(n)) {
			return fmt.Errorf("shape %v is larger than the file", p.Dims)
		}
		size *= int64(n)
	}
	if p.Offsets[0] < 0 || p.Offsets[1] > room || p.Offsets[1]-p.Offsets[0] != size {
		return fmt.Errorf("bytes %d to %d do not hold a %s of shape %v", p.Offsets[0], p.Offsets[1], p.Type, p.Dims)
	}
	return nil
}

func (p place) shape() shapes.Shape { return shapes.Make(fileTypes[p.Type], p.Dims...) }

// tensorFile is an open file of tensors.
type tensorFile struct {
	f        *os.File
	metadata map[string]string
	places   map[string]place
	start    int64
}

func openTensors(path string) (*tensorFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t := &tensorFile{f: f}
	if t.metadata, t.places, t.start, err = readHeader(f, info.Size()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return t, nil
}

// names are those of all tensors, sorted.
func (t *tensorFile) names() []string {
	var names []string
	for n := range t.places {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (t *tensorFile) read(name string) (*tensors.Tensor, error) {
	p := t.places[name]
	x := tensors.FromShape(p.shape())
	var failed error
	err := x.MutableBytes(func(b []byte) { _, failed = t.f.ReadAt(b, t.start+p.Offsets[0]) })
	return x, errors.Join(err, failed)
}

func (t *tensorFile) close() error { return t.f.Close() }
