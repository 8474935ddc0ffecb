package trainer

import (
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// mapping is a file mapped into memory for reading. It holds no file
// descriptor, so a dataset may have any number of shards open, and reading a
// clip from it takes no call into the kernel and no copy.
type mapping struct {
	path   string
	data   []byte
	closed bool
}

// mapFile maps a file that has to have so many bytes.
func mapFile(path string, size int64) (*mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() != size {
		return nil, fmt.Errorf("%s: %d bytes, want %d: cut short or replaced", path, st.Size(), size)
	}
	m := &mapping{path: path}
	if size == 0 { // cannot be mapped
		return m, nil
	}
	if m.data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		return nil, fmt.Errorf("%s: cannot map it into memory: %w", path, err)
	}
	return m, nil
}

// read calls use, which may look at the mapped data. A file that somebody cuts
// short while it is mapped, or a disk that fails, would end the process there;
// so that is made an error.
func (m *mapping) read(use func(data []byte)) (err error) {
	if m.closed {
		return fmt.Errorf("%s: the dataset was closed", m.path)
	}
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			err = fmt.Errorf("%s: cannot be read any more: it was cut short, or its disk failed", m.path)
		}
	}()
	use(m.data)
	return nil
}

// close gives the memory back; what read saw is gone.
func (m *mapping) close() error {
	m.closed = true
	if m.data == nil {
		return nil
	}
	err := unix.Munmap(m.data)
	m.data = nil
	return err
}
