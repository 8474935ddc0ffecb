package hf

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/melforge/melforge/trainer/safetensors"
)

// inMemory is a file with one tensor, x.
func inMemory(t *testing.T, dtype safetensors.DType, data []byte) *safetensors.File {
	t.Helper()
	var b bytes.Buffer
	err := safetensors.Write(&b, nil, []safetensors.Source{{
		Name: "x", DType: dtype, Shape: []int{len(data) / dtype.Size()},
		Write: func(w io.Writer) error { _, err := w.Write(data); return err },
	}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.NewFile("file", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestHalfFloatsKeepTheirBits(t *testing.T) {
	for _, dtype := range []safetensors.DType{F16, BF16} {
		all := make([]byte, 0, 2<<16)
		for i := range 1 << 16 {
			all = binary.LittleEndian.AppendUint16(all, uint16(i))
		}
		values, err := readFloats(inMemory(t, dtype, all), "x")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := writeFloats(&out, values, dtype); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			got := binary.LittleEndian.Uint16(out.Bytes()[2*i:])
			if got != uint16(i) && !math.IsNaN(float64(v)) {
				t.Fatalf("%s %#04x is read as %g and written as %#04x", dtype, i, v, got)
			}
		}
	}
}

func TestOtherTypesAreNotRead(t *testing.T) {
	_, err := readFloats(inMemory(t, safetensors.I32, make([]byte, 4)), "x")
	if want := "file: x is of type I32: only F32, F16 and BF16 are read"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
