package audio

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// handle is an open file without the machinery of an os.File, which costs as
// much as reading a short clip does.
type handle int

func openHandle(path string) (handle, error) {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return handle(fd), nil
}

// size is that of a regular file.
func (h handle) size() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, errNotRegular
	}
	return st.Size, nil
}

func (h handle) ReadAt(p []byte, at int64) (int, error) {
	done := 0
	for done < len(p) {
		n, err := again(func() (int, error) { return unix.Pread(int(h), p[done:], at+int64(done)) })
		if err != nil {
			return done, err
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

// prefetch is advice only, so that its failure means nothing.
func (h handle) prefetch(offset, size int64) {
	_ = unix.Fadvise(int(h), offset, size, unix.FADV_WILLNEED)
}

func (h handle) Close() error { return unix.Close(int(h)) }

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
