package shards

import (
	"fmt"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// Config is the mel configuration of all clips.
func (r *Reader) Config() mel.Config { return r.cfg }

// Layout says how the mels lie in the file. Reading gives the same whatever it is.
func (r *Reader) Layout() manifests.Layout { return r.layout }

// Keys are the keys of the clips in order. The slice is the reader's own.
func (r *Reader) Keys() []string { return r.l.keys }

// Texts are the texts of the clips in order, nil in a packed shard: there only
// the manifest has them. The slice is the reader's own.
func (r *Reader) Texts() []string { return r.l.texts }

// Len is the number of clips.
func (r *Reader) Len() int { return r.l.clips() }

// Frames is the number of real frames of a clip.
func (r *Reader) Frames(row int) int { return r.l.frames(row) }

// Pad is the FP16 value that a clip is padded with.
func (r *Reader) Pad(row int) uint16 { return r.pad[row] }

// PaddedFrames is what clips of a padded shard are filled up to, 0 in a packed one.
func (r *Reader) PaddedFrames() int { return r.l.padded }

// MelOffset is where the values start in the file, 0 where there are none.
func (r *Reader) MelOffset() int64 { return r.mel }

// Read reads a clip.
func (r *Reader) Read(row int) (mel.Mel, error) { return r.ReadInto(row, nil) }

// ReadInto reads a clip into the memory of dst where that is large enough: a
// loop that needs one clip at a time then makes no garbage. In a padded shard
// that is a transposition; ReadPadded is not.
func (r *Reader) ReadInto(row int, dst []uint16) (mel.Mel, error) {
	if err := r.checkRow(row); err != nil {
		return mel.Mel{}, err
	}
	m := mel.Mel{N: r.Frames(row), NMels: r.l.nMels, Pad: r.pad[row]}
	m.Frames = resize(dst, m.N*m.NMels)
	if r.rows == nil {
		return m, r.read(row, m.Frames)
	}
	whole := r.rows.get()
	defer r.rows.put(whole)
	if err := r.read(row, *whole); err != nil {
		return mel.Mel{}, err
	}
	unpad(m, *whole, r.l.padded)
	return m, nil
}

// ReadPadded reads a clip as the row-major array [n_mels][frames], into the
// memory of dst where that is large enough. Frames beyond those asked for are
// left out. In a padded shard of that many frames the array is read as it is.
func (r *Reader) ReadPadded(row, frames int, dst []uint16) ([]uint16, error) {
	if err := r.checkRow(row); err != nil {
		return nil, err
	}
	if frames < 0 || frames > maxPadded {
		return nil, fmt.Errorf("shard %s: clips of %d frames were asked for", r.path, frames)
	}
	dst = resize(dst, r.l.nMels*frames)
	if frames == r.l.padded {
		return dst, r.read(row, dst)
	}
	m, err := r.Read(row)
	if err != nil {
		return nil, err
	}
	if m.N > frames {
		m.N = frames
	}
	pad(dst, m, frames)
	return dst, nil
}

// read fills values from where a row starts.
func (r *Reader) read(row int, values []uint16) error {
	if _, err := r.s.r.ReadAt(bytesOf(values), r.mel+r.l.at(row)); err != nil {
		return fmt.Errorf("shard %s: row %d (%s): %w", r.path, row, r.l.keys[row], err)
	}
	return nil
}

func (r *Reader) checkRow(row int) error {
	if row < 0 || row >= r.Len() {
		return fmt.Errorf("shard %s: row %d of %d", r.path, row, r.Len())
	}
	return nil
}

func resize(dst []uint16, n int) []uint16 {
	if cap(dst) >= n {
		return dst[:n]
	}
	return make([]uint16, n)
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }
