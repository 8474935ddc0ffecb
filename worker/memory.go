package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Memory is memory that a parent and its children share. The parent makes it,
// a child maps it by its name. What a dead child wrote into it stays.
type Memory struct {
	file  *os.File
	bytes []byte
}

// NewMemory makes size bytes of zeros that are really there: a machine short of
// memory says so now, not when they are used.
func NewMemory(size int) (*Memory, error) {
	fd, err := unix.MemfdCreate("melforge", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("worker: shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "shared memory")
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		file.Close()
		return nil, fmt.Errorf("worker: %d bytes of shared memory: %w", size, err)
	}
	m, err := mapped(file, size, 0)
	if err != nil {
		return nil, err
	}
	if err := m.populate(); err != nil {
		return nil, errors.Join(fmt.Errorf("worker: %d bytes of shared memory: %w", size, err), m.Close())
	}
	return m, nil
}

// populate has the system make all pages, on several cores: one needs a tenth of
// a second for 200 MB.
func (m *Memory) populate() error {
	part := (len(m.bytes)/min(populators, runtime.GOMAXPROCS(0)) + populateUnit) / populateUnit * populateUnit
	var g errgroup.Group
	for b := range slices.Chunk(m.bytes, part) {
		g.Go(func() error { return unix.Madvise(b, unix.MADV_POPULATE_WRITE) })
	}
	err := g.Wait()
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14
		return unix.Fallocate(int(m.file.Fd()), 0, 0, int64(len(m.bytes)))
	}
	return err
}

const (
	populators   = 8
	populateUnit = 2 << 20 // a huge page, where there are
)

// OpenMemory maps memory that the parent made, by its name.
func OpenMemory(name string, size int) (*Memory, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("worker: the parent's memory: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() < int64(size) {
		err = fmt.Errorf("%d bytes, want %d", info.Size(), size)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("worker: the parent's memory: %w", err)
	}
	return mapped(file, size, unix.MAP_POPULATE)
}

func mapped(file *os.File, size, flags int) (*Memory, error) {
	b, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|flags)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("worker: map %d bytes of shared memory: %w", size, err)
	}
	return &Memory{file: file, bytes: b}, nil
}

// Name is how a child finds the memory, while this process lives.
func (m *Memory) Name() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.file.Fd()) }

// Bytes is the memory itself. It must not be used after Close.
func (m *Memory) Bytes() []byte { return m.bytes }

// Close unmaps the memory here; it is freed when nobody maps it any more.
func (m *Memory) Close() error {
	err := unix.Munmap(m.bytes)
	m.bytes = nil
	if cerr := m.file.Close(); err == nil {
		err = cerr
	}
	return err
}
