package trainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/shards"
)

// shardID tells shards apart: a committed file is never changed, so that a
// shard that was opened for one version of the dataset serves the next.
type shardID struct{ file, crc32c string }

// shard is one shard of the dataset, opened when it is first needed.
type shard struct {
	path   string
	record manifests.Shard
	verify bool
	cfg    mel.Config

	once   sync.Once
	err    error
	m      *mapping
	starts []int64  // the first frame of each row, and the end of the last
	pads   []uint16 // of each row
}

// shard is the one of this record, known from before or new. The caller holds
// the lock.
func (d *Dataset) shard(r manifests.Shard, cfg mel.Config) *shard {
	id := shardID{r.File, r.CRC32C}
	s, ok := d.shards[id]
	if !ok {
		s = &shard{path: filepath.Join(d.dir, filepath.FromSlash(r.File)), record: r, verify: d.opts.Verify, cfg: cfg}
		d.shards[id] = s
	}
	return s
}

// open makes the shard ready, or says why it cannot be. The answer stays.
func (s *shard) open() error {
	s.once.Do(func() {
		if err := s.load(); err != nil {
			s.err = fmt.Errorf("shard %w; run melforge verify, then the command that made the dataset, or leave such shards out", err)
		}
	})
	return s.err
}

func (s *shard) load() (err error) {
	if s.m, err = mapFile(s.path, s.record.Bytes); err != nil {
		return err
	}
	if s.verify {
		if err := s.checksum(); err != nil {
			return err
		}
	}
	r, err := shards.Open(s.path)
	if err != nil {
		return err
	}
	return errors.Join(s.head(r), r.Close())
}

// checksum compares every byte with what was written.
func (s *shard) checksum() error {
	var sum string
	err := s.m.read(func(data []byte) { sum = checksum(data) })
	if err == nil && sum != s.record.CRC32C {
		err = fmt.Errorf("%s: crc32c %s, want %s: damaged or replaced", s.path, sum, s.record.CRC32C)
	}
	return err
}

// head takes from the file what dataset.json does not record, and compares
// the rest.
func (s *shard) head(r *shards.Reader) error {
	s.starts = make([]int64, r.Len()+1)
	s.pads = make([]uint16, r.Len())
	for row := range r.Len() {
		s.starts[row+1] = s.starts[row] + int64(r.Frames(row))
		s.pads[row] = r.Pad(row)
	}
	want, got := s.record, s.record
	got.Clips, got.Frames, got.NMels, got.MelOffset = r.Len(), s.starts[r.Len()], r.Config().NMels, r.MelOffset()
	got.Layout, got.PaddedFrames = r.Layout(), r.PaddedFrames()
	if got != want {
		return fmt.Errorf("%s: by its head it is %+v, by dataset.json %+v", s.path, got, want)
	}
	if r.Config() != s.cfg {
		return fmt.Errorf("%s: its mel configuration is not that of the dataset", s.path)
	}
	if end := want.MelOffset + s.values()*2; want.MelOffset%2 != 0 || end > want.Bytes {
		return fmt.Errorf("%s: the mels would end at byte %d of %d", s.path, end, want.Bytes)
	}
	return nil
}

// values is how many the shard holds.
func (s *shard) values() int64 {
	rows, frames := int64(1), s.record.Frames
	if s.record.Layout == manifests.Padded {
		rows, frames = int64(s.record.Clips), int64(s.record.PaddedFrames)
	}
	return rows * frames * int64(s.record.NMels)
}

// frames is the number of frames of a row.
func (s *shard) frames(row int) int { return int(s.starts[row+1] - s.starts[row]) }

// bytes is where in the file the values of a row begin and end.
func (s *shard) bytes(row int) (first, end int64) {
	first, end = s.starts[row], s.starts[row+1]
	if s.record.Layout == manifests.Padded {
		first = int64(row) * int64(s.record.PaddedFrames)
		end = first + int64(s.record.PaddedFrames)
	}
	frame := int64(s.record.NMels) * 2
	return s.record.MelOffset + first*frame, s.record.MelOffset + end*frame
}

// at gives the stored values of a row within the mapped file: [frames, n_mels]
// of a packed shard, [n_mels, PaddedFrames] of a padded one.
func (s *shard) at(data []byte, row int) []uint16 {
	first, end := s.bytes(row)
	b := data[first:end]
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}

// willNeed has the kernel fetch a row. It is advice: what goes wrong shows when
// the row is read.
func (s *shard) willNeed(row int) {
	if s.open() != nil {
		return
	}
	if first, end := s.bytes(row); first < end {
		first -= first % int64(os.Getpagesize())
		_ = unix.Madvise(s.m.data[first:end], unix.MADV_WILLNEED)
	}
}

func (s *shard) close() error {
	if s.m == nil {
		return nil
	}
	return s.m.close()
}
