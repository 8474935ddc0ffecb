package safetensors

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
)

// Whatever a header says, reading it must neither panic nor take more memory
// than the file has bytes; what is accepted must be readable, and the same once
// written again.
func FuzzFile(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, map[string]string{"position": "{}"}, []Source{of("/w", F32, []int{1}, 1, 2, 3, 4)}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 2))
	f.Add(file(`{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"new","shape":[1],"data_offsets":[0,7]}}`, 8))
	f.Add(file(`{"a":{"dtype":"U8","shape":[9223372036854775807,0,9],"data_offsets":[0,0]}}`, 0))
	f.Add(file(`{"a":{"dtype":"F16","shape":[9223372036854775807,2,0],"data_offsets":[0,0]}}`, 0))
	f.Add(file(`{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}} `, 0))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<40))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := NewFile("x", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		var sources []Source
		tensors := map[string][]byte{}
		for _, name := range in.Names() {
			e, _ := in.Entry(name)
			if e.Offsets[0] < 0 || e.Bytes() < 0 || in.start+e.Offsets[1] > int64(len(data)) {
				t.Fatalf("%q lies at %v in a file of %d bytes", name, e.Offsets, len(data))
			}
			b := make([]byte, e.Bytes())
			if err := in.Read(name, b); err != nil {
				t.Fatal(err)
			}
			if e.DType.Size() != 0 {
				sources, tensors[name] = append(sources, of(name, e.DType, e.Shape, b...)), b
			}
		}
		metadata, err := in.Metadata()
		if err != nil {
			metadata = nil
		}
		checkAgain(t, metadata, sources, tensors)
	})
}

// checkAgain writes the sources and reads them back.
func checkAgain(t *testing.T, metadata map[string]string, sources []Source, tensors map[string][]byte) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, metadata, sources); err != nil {
		t.Fatal(err)
	}
	again, err := NewFile("again", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := again.Metadata(); err != nil || !reflect.DeepEqual(m, metadata) {
		t.Fatalf("metadata %v, want %v, error %v", m, metadata, err)
	}
	for _, s := range sources {
		e, _ := again.Entry(s.Name)
		got := make([]byte, e.Bytes())
		if err := again.Read(s.Name, got); err != nil || e.DType != s.DType || !bytes.Equal(got, tensors[s.Name]) {
			t.Fatalf("%q: %v %v, want %v, error %v", s.Name, e, got, tensors[s.Name], err)
		}
	}
	if len(again.entries) != len(sources) {
		t.Fatalf("%d tensors of %d", len(again.entries), len(sources))
	}
}
