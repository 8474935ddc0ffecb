package shards

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// errDone is what a Writer answers after Commit or Abort.
var errDone = errors.New("the writer is closed")

// head is the part of a file that comes before its frames, and where in the
// file the parts go that libhdf5 does not write.
type head struct {
	bytes []byte // all but the frames
	mel   int64  // offset of the first frame; 0 where there is none
	pad   int64  // offset of the pad values
	size  int64  // of the whole file
}

// write writes the head to f, and gives f the size of the whole.
func (h *head) write(f *os.File) error {
	if _, err := f.WriteAt(h.bytes, 0); err != nil {
		return err
	}
	return f.Truncate(h.size)
}

// Writer writes one shard. It writes to a temporary file beside the target, so
// that nothing bears the shard's name before Commit.
type Writer struct {
	path string
	l    layout
	h    head
	f    *os.File
	rows *rows // memory for padded clips; nil in a packed shard
	out  writeback

	mu      sync.Mutex
	taken   []bool   // rows that a Put has begun
	written int      // rows that a Put has finished
	pad     []uint16 // the pad value of each row
	sums    []uint32 // the CRC-32C of each row
	err     error    // the first error; nothing is accepted after it
}

// Create starts the packed shard path for clips with the given keys and frame
// counts. The shape is known before the first frame is written, so that engines
// write rows in place in any order. End with Commit or Abort.
func Create(path string, cfg mel.Config, keys []string, frames []int) (*Writer, error) {
	return start(path, cfg, layout{nMels: cfg.NMels, keys: keys}, frames)
}

// CreatePadded is Create for a padded shard, which also holds the text of each
// clip.
func CreatePadded(path string, cfg mel.Config, keys, texts []string, frames []int) (*Writer, error) {
	if cfg.Hop < 1 || cfg.PaddedFrames() < 1 {
		return nil, fmt.Errorf("shard %s: clips of the mel configuration %q have no fixed length to be padded to: use the layout %s",
			path, cfg.Name, manifests.Packed)
	}
	return start(path, cfg, layout{nMels: cfg.NMels, keys: keys, texts: texts, padded: cfg.PaddedFrames()}, frames)
}

func start(path string, cfg mel.Config, l layout, frames []int) (*Writer, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("shard %s: mel configuration: %w", path, err)
	}
	l.config = string(text)
	return create(path, l, frames)
}

func create(path string, l layout, frames []int) (*Writer, error) {
	if path == "" {
		return nil, errors.New("shard: no path given")
	}
	if err := l.check(frames); err != nil {
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
	h, err := newHead(&l)
	if err == nil {
		err = h.write(f)
	}
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", path, errors.Join(err, f.Close(), os.Remove(tmp)))
	}
	w := &Writer{
		path: path, l: l, h: h, f: f,
		taken: make([]bool, l.clips()), pad: make([]uint16, l.clips()), sums: make([]uint32, l.clips()),
	}
	if l.padded > 0 {
		w.rows = &rows{size: l.nMels * l.padded}
	}
	return w, nil
}

// Put writes the mel of a row, straight from m's memory, which it does not keep.
// It is safe for concurrent use; rows may come in any order, each exactly once.
// The first error is kept and everything after it refused.
func (w *Writer) Put(row int, m mel.Mel) error {
	if err := w.take(row, m); err != nil {
		return err
	}
	values := m.Frames
	if w.rows != nil {
		padded := w.rows.get()
		defer w.rows.put(padded)
		values = *padded
		pad(values, m, w.l.padded)
	}
	b := bytesOf(values)
	sum := crc32.Checksum(b, castagnoli)
	_, err := w.f.WriteAt(b, w.h.mel+w.l.at(row))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return w.fail(fmt.Errorf("row %d: %w", row, err))
	}
	w.pad[row], w.sums[row] = m.Pad, sum
	w.written++
	w.out.wrote(w.f, int64(len(b)))
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

// seal completes, syncs and closes the temporary file.
func (w *Writer) seal() (manifests.Shard, error) {
	copy(w.h.bytes[w.h.pad:], bytesOf(w.pad))
	if _, err := w.f.WriteAt(bytesOf(w.pad), w.h.pad); err != nil {
		return manifests.Shard{}, fmt.Errorf("pad: %w", err)
	}
	w.out.wait()
	if err := w.f.Sync(); err != nil {
		return manifests.Shard{}, err
	}
	st, err := w.f.Stat()
	if err != nil {
		return manifests.Shard{}, err
	}
	if st.Size() != w.h.size {
		return manifests.Shard{}, fmt.Errorf("the file has %d bytes, want %d: another process wrote to it", st.Size(), w.h.size)
	}
	if err := w.f.Close(); err != nil {
		return manifests.Shard{}, err
	}
	return manifests.Shard{
		File: filepath.Base(w.path), Bytes: w.h.size, CRC32C: hex(w.sum()),
		Clips: w.l.clips(), Frames: w.l.total(), MelOffset: w.h.mel, NMels: w.l.nMels,
		Layout: w.l.kind(), PaddedFrames: w.l.padded,
	}, nil
}

// sum is the checksum of the file: that of the head, then those of the rows.
func (w *Writer) sum() uint32 {
	sum := crc32.Checksum(w.h.bytes, castagnoli)
	for row, s := range w.sums {
		sum = crcJoin(sum, s, w.l.at(row+1)-w.l.at(row))
	}
	return sum
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
	w.out.wait()
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
