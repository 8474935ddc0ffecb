package safetensors

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Source is a tensor to be written.
type Source struct {
	Name  string
	DType DType
	Shape []int
	// Write writes the bytes, all of them and no more. It is called when their
	// turn comes: only one tensor need be in memory.
	Write func(io.Writer) error
}

// Write streams the tensors, in the order of their names, after a header with
// the metadata, which may be nil.
func Write(w io.Writer, metadata map[string]string, sources []Source) error {
	sources = slices.SortedFunc(slices.Values(sources), func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	header, entries, err := makeHeader(metadata, sources)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)); err != nil {
		return err
	}
	for i, s := range sources {
		c := counter{w: out}
		if err := s.Write(&c); err != nil {
			return fmt.Errorf("tensor %s: %w", s.Name, err)
		}
		if c.n != entries[i].Bytes() {
			return fmt.Errorf("tensor %s: %s %v needs %d bytes and %d were written", s.Name, s.DType, s.Shape, entries[i].Bytes(), c.n)
		}
	}
	return out.Flush()
}

// makeHeader is the header's text, and the entries in it.
func makeHeader(metadata map[string]string, sources []Source) ([]byte, []Entry, error) {
	header := make(map[string]any, len(sources)+1)
	if metadata != nil {
		header[metadataKey] = metadata
	}
	entries := make([]Entry, len(sources))
	var end int64
	for i, s := range sources {
		if _, taken := header[s.Name]; taken || s.Name == metadataKey {
			return nil, nil, fmt.Errorf("tensor %s: the name is taken", s.Name)
		}
		if s.DType.Size() == 0 {
			return nil, nil, fmt.Errorf("tensor %s: type %q cannot be written", s.Name, s.DType)
		}
		n, err := byteSize(s.DType, s.Shape)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %s: %w", s.Name, err)
		}
		// A shape of nil would be null in JSON, and is that of a scalar.
		entries[i] = Entry{DType: s.DType, Shape: append([]int{}, s.Shape...), Offsets: [2]int64{end, end + n}}
		header[s.Name] = entries[i]
		end += n
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, nil, err
	}
	for len(text)%8 != 0 { // data begins aligned
		text = append(text, ' ')
	}
	return text, entries, nil
}

// counter counts what a source writes.
type counter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
