package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// maxHeader is the limit of the format's own library.
const maxHeader = 100_000_000

// prefix is the number of bytes of the header's length.
const prefix = 8

// metadataKey is the one key of a header that is no tensor.
const metadataKey = "__metadata__"

// File is an open file, of which the header was read and checked.
type File struct {
	path     string
	r        io.ReaderAt
	closer   io.Closer // nil where NewFile was given the reader
	start    int64     // of the data
	entries  map[string]Entry
	metadata json.RawMessage
}

// Open opens the file at path and reads its header.
func Open(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f, err := NewFile(path, r, info.Size())
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f.closer = r
	return f, nil
}

// NewFile reads the header of a file of size bytes; errors name it by path.
// Nothing that the header says is believed before it fits into the file.
func NewFile(path string, r io.ReaderAt, size int64) (*File, error) {
	f := &File{path: path, r: r}
	header, err := f.readHeader(size)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, f.damaged("header: %w", err)
	}
	f.metadata = raw[metadataKey]
	delete(raw, metadataKey)
	f.entries = make(map[string]Entry, len(raw))
	for name, text := range raw {
		var e Entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, f.damaged("%s: %w", name, err)
		}
		if err := e.check(size - f.start); err != nil {
			return nil, f.damaged("%s: %w", name, err)
		}
		f.entries[name] = e
	}
	return f, nil
}

// readHeader reads the header's text and finds where the data begins.
func (f *File) readHeader(size int64) ([]byte, error) {
	if size < prefix {
		return nil, f.damaged("it has %d bytes", size)
	}
	var b [prefix]byte
	if err := f.fill(b[:], 0); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	length := binary.LittleEndian.Uint64(b[:])
	if length > maxHeader || int64(length) > size-prefix {
		return nil, f.damaged("its header claims %d bytes, and the file has %d", length, size)
	}
	header := make([]byte, length)
	if err := f.fill(header, prefix); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	f.start = prefix + int64(length)
	return header, nil
}

func (f *File) damaged(format string, args ...any) error {
	return fmt.Errorf("%s is not a whole safetensors file: %w", f.path, fmt.Errorf(format, args...))
}

// fill reads all of b, which a plain ReadAt may call the end of the file where
// b is empty.
func (f *File) fill(b []byte, offset int64) error {
	_, err := io.ReadFull(io.NewSectionReader(f.r, offset, int64(len(b))), b)
	return err
}

// Path is the path that the file was opened with.
func (f *File) Path() string { return f.path }

// Names are those of all tensors, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.entries)) }

// Entry is what the header says of a tensor; ok is false where there is none of
// the name.
func (f *File) Entry(name string) (e Entry, ok bool) {
	e, ok = f.entries[name]
	return e, ok
}

// Metadata is what the writer of the file said of it; nil where that is nothing.
func (f *File) Metadata() (map[string]string, error) {
	if f.metadata == nil {
		return nil, nil
	}
	var m map[string]string
	if err := json.Unmarshal(f.metadata, &m); err != nil {
		return nil, f.damaged("%s: %w", metadataKey, err)
	}
	return m, nil
}

// Read reads a tensor into b, which must be of the entry's number of bytes.
func (f *File) Read(name string, b []byte) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%s has no tensor %s", f.path, name)
	}
	if int64(len(b)) != e.Bytes() {
		return fmt.Errorf("%s: %s has %d bytes, and %d were asked for", f.path, name, e.Bytes(), len(b))
	}
	if err := f.fill(b, f.start+e.Offsets[0]); err != nil {
		return fmt.Errorf("%s: %s: %w", f.path, name, err)
	}
	return nil
}

// Close closes the file if it was opened by Open.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}
