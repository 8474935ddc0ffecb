package bench

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forget has the system drop a synced file from the page cache.
func forget(f *os.File) error {
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// resident counts the pages of a file, and those of them in the page cache.
func resident(path string) (held, pages int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return 0, 0, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Munmap(m)
	page := os.Getpagesize()
	in := make([]byte, (len(m)+page-1)/page)
	_, _, number := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0])))
	if number != 0 {
		return 0, 0, number
	}
	for _, b := range in {
		held += int(b & 1)
	}
	return held, len(in), nil
}
