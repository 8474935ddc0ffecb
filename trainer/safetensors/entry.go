package safetensors

import (
	"fmt"
	"math"
)

// DType is the type of a tensor's values, by the format's name.
type DType string

// The types of a whole number of bytes that every version of the format has.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	I16  DType = "I16"
	I8   DType = "I8"
	U64  DType = "U64"
	U32  DType = "U32"
	U16  DType = "U16"
	U8   DType = "U8"
	Bool DType = "BOOL"
)

// Size is the number of bytes of one value, 0 for a type that is not known.
func (d DType) Size() int {
	switch d {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case I8, U8, Bool:
		return 1
	}
	return 0
}

// Entry is what a header says of one tensor.
type Entry struct {
	DType DType `json:"dtype"`
	Shape []int `json:"shape"`
	// Offsets are where the bytes begin and end, from the end of the header.
	Offsets [2]int64 `json:"data_offsets"`
}

// Bytes is the number of bytes that the tensor has in the file.
func (e Entry) Bytes() int64 { return e.Offsets[1] - e.Offsets[0] }

// check holds the entry to the bytes of data that the file has. Of a type that
// is not known only the place can be checked: files may hold tensors that
// nobody asks for.
func (e Entry) check(data int64) error {
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin || end > data {
		return fmt.Errorf("bytes %d to %d of %d", begin, end, data)
	}
	if e.DType.Size() == 0 {
		return nil
	}
	need, err := byteSize(e.DType, e.Shape)
	if err != nil {
		return err
	}
	if need != e.Bytes() {
		return fmt.Errorf("%s %v needs %d bytes and has %d", e.DType, e.Shape, need, e.Bytes())
	}
	return nil
}

// byteSize is the number of bytes of a tensor.
func byteSize(d DType, shape []int) (int64, error) {
	n := int64(d.Size())
	for _, dim := range shape {
		if dim < 0 || dim > 0 && n > math.MaxInt64/int64(dim) {
			return 0, fmt.Errorf("shape %v", shape)
		}
		n *= int64(dim)
	}
	return n, nil
}
