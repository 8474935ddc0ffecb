package loop

import (
	"errors"
	"fmt"
	"io"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/melforge/melforge/trainer/safetensors"
)

// A checkpoint's file is in the safetensors format: any tool can look into it.

// fileTypes are the format's names of the types that a store holds.
var fileTypes = map[safetensors.DType]dtypes.DType{
	safetensors.F64: dtypes.Float64, safetensors.F32: dtypes.Float32, safetensors.F16: dtypes.Float16, safetensors.BF16: dtypes.BFloat16,
	safetensors.I64: dtypes.Int64, safetensors.I32: dtypes.Int32, safetensors.I16: dtypes.Int16, safetensors.I8: dtypes.Int8,
	safetensors.U64: dtypes.Uint64, safetensors.U32: dtypes.Uint32, safetensors.U16: dtypes.Uint16, safetensors.U8: dtypes.Uint8,
	safetensors.Bool: dtypes.Bool,
}

// source is a variable's value as a tensor to be written.
func source(name string, value *tensors.Tensor) (safetensors.Source, error) {
	shape := value.Shape()
	for kind, d := range fileTypes {
		if d == shape.DType {
			return safetensors.Source{
				Name: name, DType: kind, Shape: shape.Dimensions,
				Write: func(w io.Writer) error { return writeValue(w, value) },
			}, nil
		}
	}
	return safetensors.Source{}, fmt.Errorf("variable %s: type %s cannot be saved", name, shape.DType)
}

// writeValue brings a tensor from its device, and leaves no copy on this side.
func writeValue(w io.Writer, value *tensors.Tensor) error {
	had := value.HasLocal()
	var failed error
	err := value.ConstBytes(func(b []byte) { _, failed = w.Write(b) })
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if !had && value.IsOnAnyDevice() && !value.IsShared() {
		value.FinalizeLocal()
	}
	return nil
}

// shapeIn is the shape of a variable in a file.
func shapeIn(f *safetensors.File, name string) (shapes.Shape, error) {
	e, _ := f.Entry(name)
	d, ok := fileTypes[e.DType]
	if !ok {
		return shapes.Shape{}, fmt.Errorf("%s: variable %s: unknown type %q", f.Path(), name, e.DType)
	}
	return shapes.Make(d, e.Shape...), nil
}

// readValue reads a variable's value from a file.
func readValue(f *safetensors.File, name string) (*tensors.Tensor, error) {
	shape, err := shapeIn(f, name)
	if err != nil {
		return nil, err
	}
	value := tensors.FromShape(shape)
	var failed error
	if err := value.MutableBytes(func(b []byte) { failed = f.Read(name, b) }); err != nil {
		return nil, fmt.Errorf("%s: variable %s: %w", f.Path(), name, err)
	}
	return value, failed
}
