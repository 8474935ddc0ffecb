//go:build cgo && linux && !nohdf5

package shards

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
	"gonum.org/v1/hdf5"
)

// alignment of the frames in the file: a page, so that they can be mapped.
const alignment = 4096

// version is the version of the format that the layout came with.
func (l *layout) version() int {
	if l.padded > 0 {
		return 2
	}
	return 1
}

// melSize is the size of all rows.
func (l *layout) melSize() int64 { return l.at(l.clips()) }

// newHead makes the head of a complete HDF5 file whose frames and pad values are
// still zero. The frames come last, so that what a reader has to look at first
// lies together at the start of the file.
//
// libhdf5 works in memory and sees no disk: it cannot close a file when that
// fails for want of space, and every later file of the process suffers.
func newHead(l *layout) (head, error) {
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
	h.bytes = make([]byte, rest)
	_, err = memory.ReadAt(h.bytes, 0)
	return h, err
}

func buildHead(path string, l *layout) (h head, err error) {
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

func fillHead(f *hdf5.File, l *layout) (h head, err error) {
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
	numbers := func(values []uint64) func(*hdf5.Dataset) error {
		return func(d *hdf5.Dataset) error { return writeNumbers(d, values) }
	}
	strings := func(values []string) func(*hdf5.Dataset) error {
		return func(d *hdf5.Dataset) error { return writeStrings(d, text, values) }
	}
	parts := []part{
		{"offsets", hdf5.T_STD_U64LE, []uint{n + 1}, numbers(l.offsets)},
		{"keys", text, []uint{n}, strings(l.keys)},
		{"pad", f16, []uint{n}, func(d *hdf5.Dataset) error { h.pad = offsetOf(d); return nil }},
		{"mel", f16, []uint{uint(l.total()), uint(l.nMels)}, func(d *hdf5.Dataset) error { h.mel = max(offsetOf(d), 0); return nil }},
	}
	if l.padded > 0 {
		counts := make([]uint64, n)
		for row := range counts {
			counts[row] = uint64(l.frames(row))
		}
		parts[0] = part{"frames", hdf5.T_STD_I64LE, []uint{n}, numbers(counts)}
		parts[3].dims = []uint{n, uint(l.nMels), uint(l.padded)}
		parts = slices.Insert(parts, 2, part{"text", text, []uint{n}, strings(l.texts)})
	}
	for _, p := range parts {
		if err := p.create(f); err != nil {
			return h, err
		}
	}
	return h, nil
}

// part is a dataset: what it is called and like, and what is done with it.
type part struct {
	name string
	t    *hdf5.Datatype
	dims []uint
	use  func(*hdf5.Dataset) error
}

// create creates the dataset, lets use have it, and closes it.
func (p part) create(f *hdf5.File) error {
	d, err := createDataset(f, p.name, p.t, p.dims...)
	if err != nil {
		return err
	}
	err = p.use(d)
	if d.Close() != nil {
		err = errors.Join(err, failed("close"))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func writeAttributes(f *hdf5.File, text *hdf5.Datatype, l *layout) error {
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
	format, version, config, kind := Format, int64(l.version()), l.config, l.kind().String()
	type attribute struct {
		name  string
		t     *hdf5.Datatype
		value any
	}
	all := []attribute{
		{"format", text, &format},
		{"version", hdf5.T_STD_I64LE, &version},
		{"mel", text, &config},
	}
	if l.padded > 0 {
		all = append(all, attribute{"layout", text, &kind})
	}
	for _, a := range all {
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
