package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// File is an open wav file, of which only the headers have been read. Its
// length is known before any memory is spent on it.
type File struct {
	path string
	head head
	sound
}

var errNotRegular = errors.New("not a regular file: copy it to one first")

// OpenWAV opens the wav file at path. It understands what [DecodeWAV] does.
//
// A short file with a header like [AppendWAV]'s is believed to hold what it
// says, which saves asking for its size; that it is truncated then shows in
// [File.ReadInto].
func OpenWAV(path string) (*File, error) {
	h, err := openHandle(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, head: head{file: h}}
	if f.sound, err = f.head.find(); err != nil {
		h.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// head gives a file's headers. Mostly all of them are in its first bytes.
type head struct {
	file  handle
	bytes [64]byte
	first int // how many of bytes are the file's first
}

// find finds the sound.
func (h *head) find() (sound, error) {
	var err error
	if h.first, err = h.file.ReadAt(h.bytes[:], 0); err == nil || err == io.EOF {
		if s, ok := canonical(h.bytes[:h.first]); ok {
			return s, nil
		}
	}
	size, sizeErr := h.file.size()
	if sizeErr != nil {
		return sound{}, sizeErr
	}
	if err != nil && err != io.EOF {
		return sound{}, err
	}
	return walk(h, size)
}

func (h *head) at(offset int64, n int) ([]byte, error) {
	if end := offset + int64(n); end <= int64(h.first) {
		return h.bytes[offset:end], nil
	}
	h.first = 0
	if _, err := h.file.ReadAt(h.bytes[:n], offset); err != nil {
		return nil, fmt.Errorf("the file shrank while it was read: %w", err)
	}
	return h.bytes[:n], nil
}

// Rate is the file's samples a second.
func (f *File) Rate() int { return f.rate }

// Samples is how many there are of each channel.
func (f *File) Samples() int { return f.frames() }

// Direct says whether the file holds what [File.ReadInto] gives, mono 16-bit
// integers, so that nothing is converted or copied twice.
func (f *File) Direct() bool { return f.tag == tagPCM && f.bits == 16 && f.channels == 1 }

// ReadInto reads all samples, as mono 16-bit sound, into dst, which must hold
// exactly that many. A file of Melforge's own is copied fastest to an address
// that is 44 past a multiple of 64, as its samples are in the file.
func (f *File) ReadInto(dst []int16) error {
	if len(dst) != f.Samples() {
		return fmt.Errorf("%s: room for %d samples, but there are %d", f.path, len(dst), f.Samples())
	}
	if len(dst) == 0 {
		return nil
	}
	if f.Direct() {
		b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 2*len(dst))
		if err := f.read(b); err != nil {
			return err
		}
		fromLittleEndian(dst)
		return nil
	}
	b := make([]byte, f.size)
	if err := f.read(b); err != nil {
		return err
	}
	samples, err := f.decode(b)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	copy(dst, samples)
	return nil
}

func (f *File) read(b []byte) error {
	if n, err := f.head.file.ReadAt(b, f.offset); n < len(b) {
		if err == io.EOF {
			err = fmt.Errorf("truncated: expected %d bytes of data, found %d", len(b), n)
		}
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// fromLittleEndian corrects samples that were read as bytes of this machine.
func fromLittleEndian(s []int16) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return
	}
	for i, v := range s {
		s[i] = int16(uint16(v)<<8 | uint16(v)>>8)
	}
}

// Prefetch asks the system to read the samples ahead, and does not wait.
func (f *File) Prefetch() { f.head.file.prefetch(f.offset, f.size) }

// Close closes the file.
func (f *File) Close() error { return f.head.file.Close() }
