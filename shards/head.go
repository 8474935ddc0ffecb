package shards

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"gonum.org/v1/hdf5"
)

// head says where in the file the parts go that libhdf5 does not write.
type head struct {
	mel  int64 // offset of the first frame; 0 where there is none
	pad  int64 // offset of the pad values
	size int64 // of the whole file
}

// writeHead makes dst a complete HDF5 file whose frames and pad values are still
// zero. The frames come last, so that what a reader has to look at first lies
// together at the start of the file.
//
// libhdf5 works in memory and sees no disk: it cannot close a file when that
// fails for want of space, and every later file of the process suffers.
func writeHead(dst *os.File, l layout) (head, error) {
	fd, err := unix.MemfdCreate("melforge-shard", unix.MFD_CLOEXEC)
	if err != nil {
		return head{}, fmt.Errorf("memory file: %w", err)
	}
	memory := os.NewFile(uintptr(fd), "memory file")
	defer memory.Close()
	h, err := buildHead(fmt.Sprintf("/proc/self/fd/%d", fd), l)
	if err != nil {
		return h, err
	}
	st, err := memory.Stat()
	if err != nil {
		return h, err
	}
	h.size = st.Size()
	rest := h.size - l.melSize() // all but the frames
	if l.melSize() > 0 && h.mel != rest {
		return h, fmt.Errorf("hdf5 put the frames at %d of %d bytes, not at the end", h.mel, h.size)
	}
	if _, err := io.Copy(dst, io.NewSectionReader(memory, 0, rest)); err != nil {
		return h, err
	}
	return h, dst.Truncate(h.size)
}

func buildHead(path string, l layout) (h head, err error) {
	err = withLibrary(func() error {
		f, err := createFile(path, max(l.melSize(), 1), alignment)
		if err != nil {
			return err
		}
		h, err = fillHead(f, l)
		return errors.Join(err, closeFile(f))
	})
	return h, err
}

func fillHead(f *hdf5.File, l layout) (h head, err error) {
	text, err := utf8Text()
	if err != nil {
		return h, err
	}
	defer text.Close()
	f16, err := float16()
	if err != nil {
		return h, err
	}
	defer f16.Close()
	if err := writeAttributes(f, text, l); err != nil {
		return h, err
	}

	n := uint(l.clips())
	err = dataset(f, "offsets", hdf5.T_STD_U64LE, func(d *hdf5.Dataset) error {
		return writeNumbers(d, l.offsets)
	}, n+1)
	if err != nil {
		return h, err
	}
	err = dataset(f, "keys", text, func(d *hdf5.Dataset) error {
		return writeStrings(d, text, l.keys)
	}, n)
	if err != nil {
		return h, err
	}
	err = dataset(f, "pad", f16, func(d *hdf5.Dataset) error {
		h.pad = offsetOf(d)
		return nil
	}, n)
	if err != nil {
		return h, err
	}
	err = dataset(f, "mel", f16, func(d *hdf5.Dataset) error {
		h.mel = max(offsetOf(d), 0)
		return nil
	}, uint(l.total()), uint(l.nMels))
	return h, err
}

// dataset creates a dataset, lets use have it, and closes it.
func dataset(f *hdf5.File, name string, t *hdf5.Datatype, use func(*hdf5.Dataset) error, dims ...uint) error {
	d, err := createDataset(f, name, t, dims...)
	if err != nil {
		return err
	}
	err = use(d)
	if d.Close() != nil {
		err = errors.Join(err, failed("close"))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func writeAttributes(f *hdf5.File, text *hdf5.Datatype, l layout) error {
	root, err := f.OpenGroup("/")
	if err != nil {
		return failed("root")
	}
	defer root.Close()
	scalar, err := hdf5.CreateDataspace(hdf5.S_SCALAR)
	if err != nil {
		return failed("attributes")
	}
	defer scalar.Close()
	format, version, config := Format, int64(Version), l.config
	for _, a := range []struct {
		name  string
		t     *hdf5.Datatype
		value any
	}{
		{"format", text, &format},
		{"version", hdf5.T_STD_I64LE, &version},
		{"mel", text, &config},
	} {
		attribute, err := root.CreateAttribute(a.name, a.t, scalar)
		if err != nil {
			return failed(a.name)
		}
		if attribute.Write(a.value, a.t) != nil {
			return errors.Join(failed(a.name), attribute.Close())
		}
		if attribute.Close() != nil {
			return failed(a.name)
		}
	}
	return nil
}
