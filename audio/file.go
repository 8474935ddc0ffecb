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
	return f.ReadPart(dst, 0)
}

// ReadPart fills dst with the samples from that number on.
func (f *File) ReadPart(dst []int16, from int) error {
	if from < 0 || from > f.Samples()-len(dst) {
		return fmt.Errorf("%s: samples %d to %d, but there are %d", f.path, from, from+len(dst), f.Samples())
	}
	if len(dst) == 0 {
		return nil
	}
	offset := f.offset + int64(from*f.frameSize())
	if f.Direct() {
		if err := f.read(bytesOf(dst), offset); err != nil {
			return err
		}
		fromLittleEndian(dst)
		return nil
	}
	b := make([]byte, len(dst)*f.frameSize())
	if err := f.read(b, offset); err != nil {
		return err
	}
	samples, err := f.decode(b)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	copy(dst, samples)
	return nil
}

// bytesOf is the memory of samples.
func bytesOf(s []int16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 2*len(s))
}

// read fills b from the offset on.
func (f *File) read(b []byte, offset int64) error {
	if n, err := f.head.file.ReadAt(b, offset); n < len(b) {
		if err == io.EOF {
			missing := offset + int64(n) - f.offset
			err = fmt.Errorf("truncated: expected %d bytes of data, found %d", f.size, missing)
		}
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// CopyTo writes the whole file to w, for a checksum of it, and returns its
// length. Samples are what [File.ReadInto] gave: those of a [File.Direct] file
// are not read again.
func (f *File) CopyTo(w io.Writer, samples []int16) (int64, error) {
	size, err := f.head.file.size()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.path, err)
	}
	if end := f.offset + f.size; size < end {
		return 0, fmt.Errorf("%s: the file shrank while it was read: %d bytes, it had %d", f.path, size, end)
	}
	if !f.Direct() || !littleEndian() || len(samples) != f.Samples() {
		return size, f.copyRange(w, 0, size)
	}
	err = f.copyRange(w, 0, f.offset)
	if err == nil {
		_, err = w.Write(bytesOf(samples))
	}
	if err == nil {
		err = f.copyRange(w, f.offset+f.size, size)
	}
	return size, err
}

// copyRange writes a part of the file to w.
func (f *File) copyRange(w io.Writer, from, to int64) error {
	if from == to {
		return nil
	}
	if from == 0 && to <= int64(f.head.first) {
		_, err := w.Write(f.head.bytes[:to])
		return err
	}
	r := io.NewSectionReader(f.head.file, from, to-from)
	if n, err := io.CopyBuffer(w, r, make([]byte, min(to-from, 1<<18))); n < to-from {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// fromLittleEndian corrects samples that were read as bytes of this machine.
func fromLittleEndian(s []int16) {
	if littleEndian() {
		return
	}
	for i, v := range s {
		s[i] = int16(uint16(v)<<8 | uint16(v)>>8)
	}
}

// littleEndian says whether this machine has samples in memory as files do.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// Prefetch asks the system to read the samples ahead, and does not wait.
func (f *File) Prefetch() { f.head.file.prefetch(f.offset, f.size) }

// Close closes the file.
func (f *File) Close() error { return f.head.file.Close() }
