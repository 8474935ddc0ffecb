package shards

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// refSize is the size of a reference to variable-length data: its length, the
// address of a heap, and an index in it.
const refSize = 16

var errGreedy = errors.New("damaged: its texts are larger than the file")

// texts reads variable-length text from a file's global heaps. No checksum covers
// those; libhdf5 1.10 trusts the sizes in them, and one that lies makes it crash
// or run for ever.
type texts struct {
	s     source
	heaps map[uint64]map[uint64][]byte
	// left is how much may still be read. Real texts and heaps do not overlap, so
	// each fits once in the file; a damaged file could name one a thousand times.
	left int64
}

func newTexts(s source) *texts {
	return &texts{s: s, heaps: map[uint64]map[uint64][]byte{}, left: 2 * s.size}
}

// text resolves a reference.
func (t *texts) text(ref []byte) (string, error) {
	f := fields{b: ref}
	size, addr, index := f.uint(4), f.uint(8), f.uint(4)
	if f.short {
		return "", errShort
	}
	heap, err := t.heap(addr)
	if err != nil {
		return "", err
	}
	b, ok := heap[index]
	if !ok || uint64(len(b)) != size {
		return "", fmt.Errorf("damaged: no text of %d bytes at %d of the heap at %d", size, index, addr)
	}
	if t.left -= int64(size); t.left < 0 {
		return "", errGreedy
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("damaged: a text is not UTF-8: %q", b[:min(len(b), 40)])
	}
	return string(b), nil
}

// heap reads the global heap collection at addr.
func (t *texts) heap(addr uint64) (map[uint64][]byte, error) {
	if heap, ok := t.heaps[addr]; ok {
		return heap, nil
	}
	const head = 16
	b, err := t.s.at(addr, head)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(b, []byte("GCOL\x01")) {
		return nil, fmt.Errorf("damaged: no heap at %d", addr)
	}
	size := (&fields{b: b[8:]}).uint(8)
	if size < head || size > uint64(t.s.size) {
		return nil, fmt.Errorf("damaged: a heap of %d bytes at %d", size, addr)
	}
	if t.left -= int64(size); t.left < 0 {
		return nil, errGreedy
	}
	if b, err = t.s.at(addr, size); err != nil {
		return nil, err
	}
	heap := map[uint64][]byte{}
	f := fields{b: b[head:]}
	for len(f.b) >= head {
		index := f.uint(2)
		f.take(6) // reference count, reserved
		size := f.uint(8)
		if index == 0 { // the free space at the end
			break
		}
		heap[index] = f.take(size)
		f.take(min(-size&7, uint64(len(f.b)))) // objects start at multiples of 8
		if f.short {
			return nil, errShort
		}
	}
	t.heaps[addr] = heap
	return heap, nil
}
