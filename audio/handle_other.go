//go:build !linux

package audio

import "os"

// handle is an open file.
type handle struct{ *os.File }

func openHandle(path string) (handle, error) {
	f, err := os.Open(path)
	return handle{f}, err
}

// size is that of a regular file.
func (h handle) size() (int64, error) {
	info, err := h.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// prefetch does nothing here: the system reads ahead on its own.
func (h handle) prefetch(offset, size int64) {}
