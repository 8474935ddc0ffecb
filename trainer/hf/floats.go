package hf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/x448/float16" // GoMLX's own loses values below 2⁻¹⁴

	"github.com/melforge/melforge/trainer/safetensors"
)

// The types that weights are read from and written in.
const (
	F32  = safetensors.F32
	F16  = safetensors.F16
	BF16 = safetensors.BF16
)

// dtypeNames are config.json's names of the types.
var dtypeNames = map[safetensors.DType]string{F32: "float32", F16: "float16", BF16: "bfloat16"}

// checkRead refuses a type that weights are not read from.
func checkRead(d safetensors.DType) error {
	if dtypeNames[d] == "" {
		return fmt.Errorf("is of type %s: only F32, F16 and BF16 are read", d)
	}
	return nil
}

// readFloats reads a tensor as float32.
func readFloats(f *safetensors.File, name string) ([]float32, error) {
	e, ok := f.Entry(name)
	if !ok {
		return nil, fmt.Errorf("%s has no tensor %s", f.Path(), name)
	}
	if err := checkRead(e.DType); err != nil {
		return nil, fmt.Errorf("%s: %s %w", f.Path(), name, err)
	}
	bytes := make([]byte, e.Bytes())
	if err := f.Read(name, bytes); err != nil {
		return nil, err
	}
	values := make([]float32, len(bytes)/e.DType.Size())
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

// writeFloats writes values as the type.
func writeFloats(w io.Writer, values []float32, dtype safetensors.DType) error {
	bytes := make([]byte, 0, len(values)*dtype.Size())
	for _, v := range values {
		switch dtype {
		case F32:
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
		case F16:
			bytes = binary.LittleEndian.AppendUint16(bytes, float16.Fromfloat32(v).Bits())
		case BF16:
			bytes = binary.LittleEndian.AppendUint16(bytes, bfloat16.FromFloat32(v).Bits())
		}
	}
	_, err := w.Write(bytes)
	return err
}
