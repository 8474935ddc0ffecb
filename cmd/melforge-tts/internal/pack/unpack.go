package pack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxFile is more than any voice's largest file.
const maxFile = 1 << 30

// unpack returns the named files of a tar.zst archive.
func unpack(archive []byte, names ...string) (map[string][]byte, error) {
	z, err := zstd.NewReader(bytes.NewReader(archive), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	wanted := make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	files := make(map[string][]byte)
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("voice archive: %w", err)
		}
		if h.Typeflag != tar.TypeReg || !wanted[h.Name] {
			continue
		}
		if h.Size > maxFile {
			return nil, fmt.Errorf("voice archive: %s has %d bytes", h.Name, h.Size)
		}
		b := make([]byte, h.Size)
		if _, err := io.ReadFull(t, b); err != nil {
			return nil, fmt.Errorf("voice archive: %s: %w", h.Name, err)
		}
		files[h.Name] = b
	}
	for _, name := range names {
		if files[name] == nil {
			return nil, fmt.Errorf("voice archive: no file %s", name)
		}
	}
	return files, nil
}
