package shards

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// errDone is what a Writer answers after Commit or Abort.
var errDone = errors.New("the writer is closed")

// Writer writes one shard. It writes to a temporary file beside the target, so
// that nothing bears the shard's name before Commit.
type Writer struct {
	path string
	l    layout
	h    head
	f    *os.File

	mu      sync.Mutex
	taken   []bool   // rows that a Put has begun
	written int      // rows that a Put has finished
	pad     []uint16 // the pad value of each row
	err     error    // the first error; nothing is accepted after it
}

// Create starts the shard path for clips with the given keys and frame counts.
// The shape is known before the first frame is written, so that engines write
// rows in place in any order. End with Commit or Abort.
func Create(path string, cfg mel.Config, keys []string, frames []int) (*Writer, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("shard %s: mel configuration: %w", path, err)
	}
	return create(path, string(text), cfg.NMels, keys, frames)
}

func create(path, config string, nMels int, keys []string, frames []int) (*Writer, error) {
	if path == "" {
		return nil, errors.New("shard: no path given")
	}
	l, err := newLayout(config, nMels, keys, frames)
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", path, err)
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, fmt.Errorf("shard %s: a folder has this name", path)
	}
	tmp := commit.Temp(path)
	f, err := os.Create(tmp)
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", path, err)
	}
	h, err := writeHead(f, l)
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", path, errors.Join(err, f.Close(), os.Remove(tmp)))
	}
	return &Writer{
		path: path, l: l, h: h, f: f,
		taken: make([]bool, l.clips()), pad: make([]uint16, l.clips()),
	}, nil
}

// Put writes the mel of a row, straight from m's memory, which it does not keep.
// It is safe for concurrent use; rows may come in any order, each exactly once.
// The first error is kept and everything after it refused.
func (w *Writer) Put(row int, m mel.Mel) error {
	if err := w.take(row, m); err != nil {
		return err
	}
	_, err := w.f.WriteAt(bytesOf(m.Frames), w.h.mel+w.l.at(row))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return w.fail(fmt.Errorf("row %d: %w", row, err))
	}
	w.pad[row] = m.Pad
	w.written++
	return w.err
}

// take reserves row for m if m fits there.
func (w *Writer) take(row int, m mel.Mel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case row < 0 || row >= w.l.clips():
		return w.fail(fmt.Errorf("row %d of %d", row, w.l.clips()))
	case w.taken[row]:
		return w.fail(fmt.Errorf("row %d (%s) came twice", row, w.l.keys[row]))
	case m.N != w.l.frames(row) || m.NMels != w.l.nMels || len(m.Frames) != m.N*m.NMels:
		return w.fail(fmt.Errorf("row %d (%s): a mel of %d x %d with %d values, want %d x %d",
			row, w.l.keys[row], m.N, m.NMels, len(m.Frames), w.l.frames(row), w.l.nMels))
	}
	w.taken[row] = true
	return nil
}

// fail keeps the first error. The caller holds the lock.
func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("shard %s: %w", w.path, err)
	}
	return w.err
}

// Commit makes the shard appear under its name, whole and on disk, and says what
// it is. Where it fails nothing is left, as after Abort. The File it reports is
// the base name and Engine is empty: the caller knows better.
func (w *Writer) Commit() (manifests.Shard, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.written < w.l.clips() {
		return manifests.Shard{}, errors.Join(
			w.fail(fmt.Errorf("%d of %d clips are missing", w.l.clips()-w.written, w.l.clips())), w.discard())
	}
	if w.err != nil {
		return manifests.Shard{}, errors.Join(w.err, w.discard())
	}
	s, err := w.seal()
	if err != nil {
		return manifests.Shard{}, errors.Join(w.fail(err), w.discard())
	}
	w.f = nil
	w.fail(errDone)
	if err := commit.Rename("shard", w.path); err != nil {
		return manifests.Shard{}, fmt.Errorf("shard %s: %w",
			w.path, errors.Join(err, ignoreMissing(os.Remove(commit.Temp(w.path)))))
	}
	return s, nil
}

// seal completes, syncs, measures and closes the temporary file.
func (w *Writer) seal() (manifests.Shard, error) {
	if _, err := w.f.WriteAt(bytesOf(w.pad), w.h.pad); err != nil {
		return manifests.Shard{}, fmt.Errorf("pad: %w", err)
	}
	// The disk and the processor work at the same time: the bytes that the
	// checksum wants are in memory already.
	synced := make(chan error, 1)
	go func() { synced <- w.f.Sync() }()
	size, sum, err := checksum(w.f)
	if err := errors.Join(err, <-synced); err != nil {
		return manifests.Shard{}, err
	}
	if size != w.h.size {
		return manifests.Shard{}, fmt.Errorf("the file has %d bytes, want %d: another process wrote to it", size, w.h.size)
	}
	if err := w.f.Close(); err != nil {
		return manifests.Shard{}, err
	}
	return manifests.Shard{
		File: filepath.Base(w.path), Bytes: size, CRC32C: sum,
		Clips: w.l.clips(), Frames: w.l.total(), MelOffset: w.h.mel, NMels: w.l.nMels,
	}, nil
}

// Abort removes what was written. After Commit or Abort it does nothing.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(errDone)
	return w.discard()
}

// discard closes and removes the temporary file. The caller holds the lock.
func (w *Writer) discard() error {
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, ignoreMissing(os.Remove(commit.Temp(w.path))))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// checksum is the size of a file and its CRC-32C as eight hexadecimal digits.
func checksum(f *os.File) (size int64, sum string, err error) {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	const most = 1<<63 - 1
	size, err = io.CopyBuffer(h, io.NewSectionReader(f, 0, most), make([]byte, 1<<18))
	return size, fmt.Sprintf("%08x", h.Sum32()), err
}
