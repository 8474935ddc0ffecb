package shards

import (
	"errors"
	"fmt"
	"os"

	"github.com/melforge/melforge/manifests"
)

// Check compares the file at path with what was recorded of it when it was
// written: every byte by its checksum, and the record by the file's own shape.
func Check(path string, want manifests.Shard) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("shard %w", err)
	}
	size, sum, err := checksum(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("shard %s: %w", path, err)
	}
	if size != want.Bytes {
		return fmt.Errorf("shard %s: %d bytes, want %d", path, size, want.Bytes)
	}
	if sum != want.CRC32C {
		return fmt.Errorf("shard %s: crc32c %s, want %s: the file was damaged or replaced", path, sum, want.CRC32C)
	}
	r, err := Open(path)
	if err != nil {
		return err
	}
	return errors.Join(r.check(want), r.Close())
}

// check compares what the record says about the inside of the file.
func (r *Reader) check(want manifests.Shard) error {
	var errs []error
	if r.layout != want.Layout {
		errs = append(errs, fmt.Errorf("shard %s: it is %s, want %s", r.path, r.layout, want.Layout))
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"clips", int64(r.Len()), int64(want.Clips)},
		{"frames", r.l.total(), want.Frames},
		{"values in a frame", int64(r.l.nMels), int64(want.NMels)},
		{"frames in a padded clip", int64(r.l.padded), int64(want.PaddedFrames)},
		{"as offset of the frames", r.mel, want.MelOffset},
	} {
		if c.got != c.want {
			errs = append(errs, fmt.Errorf("shard %s: %d %s, want %d", r.path, c.got, c.what, c.want))
		}
	}
	return errors.Join(errs...)
}
