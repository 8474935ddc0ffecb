package shards

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The reader knows the part of HDF5's format (version 1.10) that the writer
// uses, and refuses the rest. Names and numbers are those of the "HDF5 File
// Format Specification", version 3.

// Types of object header messages.
const (
	msgDataspace    = 0x01
	msgDatatype     = 0x03
	msgLink         = 0x06
	msgLayout       = 0x08
	msgAttribute    = 0x0c
	msgContinuation = 0x10
)

const (
	signature = "\x89HDF\r\n\x1a\n"
	// maxHeader and maxBlocks bound an object header, whatever it claims.
	maxHeader = 1 << 20
	maxBlocks = 16
)

var errShort = errors.New("damaged: a field reaches beyond its end")

// source is a file of known size.
type source struct {
	r    io.ReaderAt
	size int64
}

// at reads n bytes at off, having checked that the file has them: no claim in
// a file makes the reader allocate more than the file's own size.
func (s source) at(off, n uint64) ([]byte, error) {
	if off > uint64(s.size) || n > uint64(s.size)-off {
		return nil, fmt.Errorf("damaged: %d bytes at %d of a file of %d", n, off, s.size)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(s.r, int64(off), int64(n)), b); err != nil {
		return nil, err
	}
	return b, nil
}

// checked reads n bytes of metadata whose last four are their checksum, and
// returns them without it.
func (s source) checked(off, n uint64) ([]byte, error) {
	if n < 4 || n > maxHeader {
		return nil, fmt.Errorf("damaged: metadata of %d bytes at %d", n, off)
	}
	b, err := s.at(off, n)
	if err != nil {
		return nil, err
	}
	body := b[:n-4]
	if lookup3(body) != binary.LittleEndian.Uint32(b[n-4:]) {
		return nil, fmt.Errorf("damaged: wrong checksum of the metadata at %d", off)
	}
	return body, nil
}

// root reads the superblock and returns the address of the root group.
func (s source) root() (uint64, error) {
	const size = 48
	if s.size < size {
		return 0, fmt.Errorf("not an HDF5 file: it has %d bytes", s.size)
	}
	b, err := s.at(0, size)
	if err != nil {
		return 0, err
	}
	if string(b[:8]) != signature {
		return 0, errors.New("not an HDF5 file")
	}
	if v := b[8]; v != 3 {
		return 0, fmt.Errorf("an HDF5 file with superblock version %d, want 3: not as melforge wrote it", v)
	}
	if b, err = s.checked(0, size); err != nil {
		return 0, err
	}
	f := fields{b: b[9:]}
	offsets, lengths, flags := f.uint(1), f.uint(1), f.uint(1)
	base, _, end, root := f.uint(8), f.uint(8), f.uint(8), f.uint(8)
	switch {
	case offsets != 8 || lengths != 8 || base != 0:
		return 0, errors.New("an HDF5 file with unusual addresses: not as melforge wrote it")
	case flags != 0:
		return 0, errors.New("still open for writing, or its writer died")
	case end > uint64(s.size):
		return 0, fmt.Errorf("truncated: it has %d of %d bytes", s.size, end)
	case end < uint64(s.size):
		return 0, fmt.Errorf("damaged: it has %d bytes, want %d", s.size, end)
	}
	return root, nil
}

// message is one entry of an object header.
type message struct {
	kind byte
	body []byte
}

// object reads the messages of the object header at addr.
func (s source) object(addr uint64) ([]message, error) {
	b, err := s.at(addr, 6)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(b, []byte("OHDR\x02")) {
		return nil, fmt.Errorf("damaged: no object header at %d", addr)
	}
	flags := b[5]
	prefix := uint64(6)
	if flags&0x20 != 0 { // times
		prefix += 16
	}
	if flags&0x10 != 0 { // attribute storage limits
		prefix += 4
	}
	width := uint64(1) << (flags & 3)
	if b, err = s.at(addr+prefix, width); err != nil {
		return nil, err
	}
	size := (&fields{b: b}).uint(int(width))
	prefix += width
	if size > maxHeader {
		return nil, fmt.Errorf("damaged: an object header of %d bytes at %d", size, addr)
	}
	if b, err = s.checked(addr, prefix+size+4); err != nil {
		return nil, err
	}
	return s.messages(b[prefix:], flags&0x04 != 0)
}

// messages decodes a block of messages and the blocks that continue it.
func (s source) messages(block []byte, ordered bool) ([]message, error) {
	var all []message
	head := 4
	if ordered {
		head += 2
	}
	blocks := [][]byte{block}
	for i := 0; i < len(blocks); i++ {
		f := fields{b: blocks[i]}
		for len(f.b) >= head {
			m := message{kind: byte(f.uint(1))}
			size := f.uint(2)
			f.take(uint64(head - 3))
			if m.body = f.take(size); f.short {
				return nil, errShort
			}
			if m.kind != msgContinuation {
				all = append(all, m)
				continue
			}
			next, err := s.continuation(m.body)
			if err != nil {
				return nil, err
			}
			if blocks = append(blocks, next); len(blocks) > maxBlocks {
				return nil, errors.New("damaged: an object header without end")
			}
		}
	}
	return all, nil
}

func (s source) continuation(body []byte) ([]byte, error) {
	f := fields{b: body}
	addr, size := f.uint(8), f.uint(8)
	if f.short {
		return nil, errShort
	}
	b, err := s.checked(addr, size)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(b, []byte("OCHK")) {
		return nil, fmt.Errorf("damaged: no continuation at %d", addr)
	}
	return b[4:], nil
}

// fields reads little-endian fields one after the other. Beyond the end it
// gives zeros and remembers.
type fields struct {
	b     []byte
	short bool
}

func (f *fields) take(n uint64) []byte {
	if n > uint64(len(f.b)) {
		f.b, f.short = nil, true
		return nil
	}
	taken := f.b[:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) uint(width int) uint64 {
	var v [8]byte
	copy(v[:], f.take(uint64(width)))
	return binary.LittleEndian.Uint64(v[:])
}
