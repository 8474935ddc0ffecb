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
)

const (
	// Format is the root attribute that tells a shard from other HDF5 files.
	Format = "melforge-shard"
	// Version is the only version of the format so far.
	Version = 1
)

const (
	// alignment of the frames in the file: a page, so that they can be mapped.
	alignment = 4096
	// valueSize is the size of one FP16 value.
	valueSize = 2
	// maxMels bounds what a damaged or absurd file can claim.
	maxMels = 1 << 16
)

// layout is everything about a shard that is known before its first frame.
type layout struct {
	config string   // the mel configuration as JSON
	nMels  int      // values in a frame
	keys   []string // one for each clip
	// offsets[i] is the first frame of clip i, offsets[n] the number of frames.
	offsets []uint64
}

// newLayout checks that the parts fit together and within the format.
func newLayout(config string, nMels int, keys []string, frames []int) (layout, error) {
	l := layout{config: config, nMels: nMels, keys: keys, offsets: make([]uint64, len(keys)+1)}
	switch {
	case len(keys) == 0:
		return l, errors.New("no clips: a shard has at least one")
	case len(keys) != len(frames):
		return l, fmt.Errorf("%d keys but %d frame counts", len(keys), len(frames))
	case nMels < 1 || nMels > maxMels:
		return l, fmt.Errorf("%d mels: want 1 to %d", nMels, maxMels)
	}
	most := uint64(math.MaxInt64/2) / uint64(nMels*valueSize)
	for i, n := range frames {
		if err := checkKey(keys[i]); err != nil {
			return l, fmt.Errorf("clip %d: %w", i, err)
		}
		if n < 0 || uint64(n) > most-l.offsets[i] {
			return l, fmt.Errorf("clip %d (%s): %d frames", i, keys[i], n)
		}
		l.offsets[i+1] = l.offsets[i] + uint64(n)
	}
	return l, nil
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

func (l layout) clips() int         { return len(l.keys) }
func (l layout) frames(row int) int { return int(l.offsets[row+1] - l.offsets[row]) }
func (l layout) total() int64       { return int64(l.offsets[l.clips()]) }
func (l layout) frameSize() int64   { return int64(l.nMels) * valueSize }
func (l layout) melSize() int64     { return l.total() * l.frameSize() }

// at is where a clip's frames start, counted from the first frame of all.
func (l layout) at(row int) int64 { return int64(l.offsets[row]) * l.frameSize() }

// bytesOf is the memory of values. Files are little-endian, as is every
// processor that this package has library paths for.
func bytesOf(values []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*valueSize)
}
