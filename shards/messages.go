package shards

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// kind is a datatype as the object header has it, without its version.
type kind []byte

var (
	// kindFloat16: little-endian, sign at 15, exponent of 5 bits at 10 with bias
	// 15, mantissa of 10 bits at 0.
	kindFloat16 = kind{1, 0x20, 15, 0, 2, 0, 0, 0, 0, 0, 16, 0, 10, 5, 0, 10, 15, 0, 0, 0}
	kindUint64  = kind{0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0}
	kindInt64   = kind{0, 8, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0}
	// kindText: variable-length, a string, UTF-8; its base type follows.
	kindText = kind{9, 1, 1, 0, 16, 0, 0, 0}
)

// is reports whether an encoded datatype starts with k.
func (k kind) is(encoded []byte) bool {
	return len(encoded) >= len(k) && encoded[0]&0x0f == k[0] && bytes.Equal(encoded[1:len(k)], k[1:])
}

// array is a contiguous dataset.
type array struct {
	dims []uint64
	addr uint64
	size uint64 // bytes
}

// links lists the objects of a group by name.
func links(group []message) (map[string]uint64, error) {
	all := map[string]uint64{}
	for _, m := range group {
		if m.kind != msgLink {
			continue
		}
		f := fields{b: m.body}
		version, flags := f.uint(1), f.uint(1)
		hard := true
		if flags&0x08 != 0 {
			hard = f.uint(1) == 0
		}
		if flags&0x04 != 0 { // creation order
			f.take(8)
		}
		if flags&0x10 != 0 { // character set
			f.take(1)
		}
		name := string(f.take(f.uint(1 << (flags & 3))))
		addr := f.uint(8)
		if f.short || version != 1 {
			return nil, errShort
		}
		if hard {
			all[name] = addr
		}
	}
	return all, nil
}

// attribute returns the value of the scalar attribute name of an object.
func attribute(object []message, name string, k kind) ([]byte, error) {
	for _, m := range object {
		if m.kind != msgAttribute {
			continue
		}
		f := fields{b: m.body}
		version, _ := f.uint(1), f.uint(1)
		nameSize, typeSize, spaceSize := f.uint(2), f.uint(2), f.uint(2)
		f.take(1) // character set
		found, encoded, space := f.take(nameSize), f.take(typeSize), f.take(spaceSize)
		if f.short || version != 3 {
			return nil, errShort
		}
		if string(bytes.TrimRight(found, "\x00")) != name {
			continue
		}
		if !k.is(encoded) {
			return nil, fmt.Errorf("the attribute %q has another type", name)
		}
		dims, err := dimensions(space)
		if err != nil {
			return nil, err
		}
		if len(dims) != 0 {
			return nil, fmt.Errorf("the attribute %q is an array", name)
		}
		return f.b, nil
	}
	return nil, fmt.Errorf("no attribute %q", name)
}

// dimensions decodes a dataspace.
func dimensions(body []byte) ([]uint64, error) {
	f := fields{b: body}
	version, rank, _, _ := f.uint(1), f.uint(1), f.uint(1), f.uint(1)
	if version != 2 {
		return nil, fmt.Errorf("a dataspace of version %d", version)
	}
	dims := make([]uint64, rank)
	for i := range dims {
		dims[i] = f.uint(8)
	}
	if f.short {
		return nil, errShort
	}
	return dims, nil
}

// newArray decodes a dataset and checks that its bytes are in the file.
func (s source) newArray(addr uint64, k kind, rank int) (array, error) {
	var a array
	object, err := s.object(addr)
	if err != nil {
		return a, err
	}
	var space, layout, typed bool
	for _, m := range object {
		switch m.kind {
		case msgDataspace:
			if a.dims, err = dimensions(m.body); err != nil {
				return a, err
			}
			space = true
		case msgDatatype:
			if !k.is(m.body) {
				return a, errors.New("another type than the format has")
			}
			typed = true
		case msgLayout:
			f := fields{b: m.body}
			version, class := f.uint(1), f.uint(1)
			if (version != 3 && version != 4) || class != 1 {
				return a, fmt.Errorf("a layout of version %d and class %d, want contiguous", version, class)
			}
			if a.addr, a.size = f.uint(8), f.uint(8); f.short {
				return a, errShort
			}
			layout = true
		}
	}
	if !space || !layout || !typed {
		return a, fmt.Errorf("no dataset at %d", addr)
	}
	if len(a.dims) != rank {
		return a, fmt.Errorf("%d dimensions, want %d", len(a.dims), rank)
	}
	return a, s.fits(a, uint64(k[4]))
}

// fits checks a's shape against its bytes and those against the file.
func (s source) fits(a array, valueSize uint64) error {
	want := valueSize
	for _, d := range a.dims {
		high, low := bits.Mul64(want, d)
		if high != 0 {
			return fmt.Errorf("damaged: a shape of %d", a.dims)
		}
		want = low
	}
	if a.size != want {
		return fmt.Errorf("damaged: %d bytes for a shape of %d", a.size, a.dims)
	}
	if want == 0 && a.addr == math.MaxUint64 { // nothing was allocated
		return nil
	}
	if a.addr > uint64(s.size) || a.size > uint64(s.size)-a.addr {
		return fmt.Errorf("damaged: %d bytes at %d of a file of %d", a.size, a.addr, s.size)
	}
	return nil
}
