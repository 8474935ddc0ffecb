// Package shards reads and writes the HDF5 files that hold mels as FP16.
//
// A shard is written once and never changed. Its layout is in FORMAT.md. HDF5's
// own library makes the file; frames are then written and read in place by
// pwrite and pread, by as many goroutines as the caller has. The reader does not
// use the library at all, so that a damaged file is an error and never a crash.
package shards

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/melforge/melforge/manifests"
)

const (
	// Format is the root attribute that tells a shard from other HDF5 files.
	Format = "melforge-shard"
	// Version is the newest version of the format. Packed shards are of version
	// 1, padded ones of version 2.
	Version = 2
)

const (
	// valueSize is the size of one FP16 value.
	valueSize = 2
	// maxMels bounds what a damaged or absurd file can claim.
	maxMels = 1 << 16
	// maxPadded does so for the frames of a padded clip: an hour's at 10 ms is
	// a third of it.
	maxPadded = 1 << 20
)

// layout is everything about a shard that is known before its first frame.
type layout struct {
	config string   // the mel configuration as JSON
	nMels  int      // values in a frame
	keys   []string // one for each clip
	// offsets[i] is the first frame of clip i, offsets[n] the number of frames.
	offsets []uint64
	padded  int      // frames that every clip is filled up to; 0 in a packed shard
	texts   []string // one for each clip of a padded shard
}

// check fills in the offsets, having checked that the parts fit together and
// within the format.
func (l *layout) check(frames []int) error {
	l.offsets = make([]uint64, len(l.keys)+1)
	switch {
	case l.clips() == 0:
		return errors.New("no clips: a shard has at least one")
	case l.clips() != len(frames):
		return fmt.Errorf("%d keys but %d frame counts", l.clips(), len(frames))
	case l.nMels < 1 || l.nMels > maxMels:
		return fmt.Errorf("%d mels: want 1 to %d", l.nMels, maxMels)
	case l.padded > maxPadded:
		return fmt.Errorf("clips padded to %d frames: at most %d", l.padded, maxPadded)
	}
	most := uint64(math.MaxInt64/2) / uint64(l.frameSize())
	for i, n := range frames {
		if err := checkKey(l.keys[i]); err != nil {
			return fmt.Errorf("clip %d: %w", i, err)
		}
		if n < 0 || uint64(n) > most-l.offsets[i] {
			return fmt.Errorf("clip %d (%s): %d frames", i, l.keys[i], n)
		}
		if l.padded > 0 && n > l.padded {
			return fmt.Errorf("clip %d (%s): %d frames do not fit in the %d of a padded clip", i, l.keys[i], n, l.padded)
		}
		l.offsets[i+1] = l.offsets[i] + uint64(n)
	}
	if l.padded == 0 {
		return nil
	}
	if uint64(l.padded) > most/uint64(l.clips()) {
		return fmt.Errorf("%d clips of %d frames", l.clips(), l.padded)
	}
	return l.checkTexts()
}

func (l *layout) checkTexts() error {
	if len(l.texts) != l.clips() {
		return fmt.Errorf("%d keys but %d texts", l.clips(), len(l.texts))
	}
	for i, text := range l.texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("clip %d (%s): the text %q is not UTF-8, or has a zero byte", i, l.keys[i], text)
		}
	}
	return nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case !utf8.ValidString(key):
		return fmt.Errorf("the key %q is not UTF-8", key)
	case strings.ContainsRune(key, 0):
		return fmt.Errorf("the key %q has a zero byte", key)
	}
	return nil
}

func (l *layout) clips() int         { return len(l.keys) }
func (l *layout) frames(row int) int { return int(l.offsets[row+1] - l.offsets[row]) }
func (l *layout) total() int64       { return int64(l.offsets[l.clips()]) }
func (l *layout) frameSize() int64   { return int64(l.nMels) * valueSize }

// kind is the layout's name.
func (l *layout) kind() manifests.Layout {
	if l.padded > 0 {
		return manifests.Padded
	}
	return manifests.Packed
}

// at is where a row starts, counted from the first of all.
func (l *layout) at(row int) int64 {
	if l.padded > 0 {
		return int64(row) * int64(l.padded) * l.frameSize()
	}
	return int64(l.offsets[row]) * l.frameSize()
}

// bytesOf is the memory of values. Files are little-endian, as is every
// processor that this package has library paths for.
func bytesOf(values []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*valueSize)
}
