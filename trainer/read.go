package trainer

import (
	"fmt"

	"github.com/melforge/melforge/manifests"
)

// Read writes clip i into dst as float32: the array [n_mels, frames] that the
// reference implementation gives, the real frames and then the clip's pad value.
// With frames 0 it has the length of the configuration (3000 for Whisper).
func (d *Dataset) Read(dst []float32, i, frames int) error {
	return readAt(d.now.Load(), dst, i, frames)
}

// ReadHalf is Read for FP16 bits, as they are stored.
func (d *Dataset) ReadHalf(dst []uint16, i, frames int) error {
	return readAt(d.now.Load(), dst, i, frames)
}

func readAt[T value](v *version, dst []T, i, frames int) error {
	if i < 0 || i >= v.len() {
		return fmt.Errorf("%s: clip %d of %d", v.dir, i, v.len())
	}
	if frames == 0 {
		if frames = v.cfg.PaddedFrames(); frames == 0 {
			return fmt.Errorf("%s: %s pads clips to no fixed length: say how many frames you want", v.dir, v.cfg.Name)
		}
	}
	if n := v.frames(i); n > frames {
		return fmt.Errorf("%s: clip %d (%s) has %d frames, more than %d", v.dir, i, v.clip(i).ID, n, frames)
	}
	if len(dst) != v.cfg.NMels*frames {
		return fmt.Errorf("%s: room for %d values, want %d x %d", v.dir, len(dst), v.cfg.NMels, frames)
	}
	_, err := readClip(v, dst, i, frames, nil, 0)
	return err
}

// readClip writes clip i into dst, an array [n_mels, width] that it fits in, and
// gives its pad value. With a SpecAugment it is masked as in that epoch.
func readClip[T value](v *version, dst []T, i, width int, a *SpecAugment, epoch int) (pad uint16, err error) {
	p := v.lines.places[i]
	s := v.shards[p.shard]
	if err := s.open(); err != nil {
		return 0, err
	}
	n, row, mels := int(p.frames), int(p.row), v.cfg.NMels
	if s.frames(row) != n {
		return 0, fmt.Errorf("shard %s: row %d has %d frames, and %d in the manifest", s.path, row, s.frames(row), n)
	}
	pad = s.pads[row]
	err = s.m.read(func(data []byte) {
		src := s.at(data, row)
		if s.record.Layout == manifests.Padded {
			for m := range mels {
				convert(dst[m*width:][:n], src[m*s.record.PaddedFrames:])
			}
		} else {
			transpose(dst, width, src, n, mels)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("shard %w", err)
	}
	fillPadding(dst, width, n, as[T](pad))
	if a != nil {
		mask(a, dst, width, n, epoch, i)
	}
	return pad, nil
}

// fillPadding sets what is right of the first n columns.
func fillPadding[T value](dst []T, width, n int, pad T) {
	if n == width {
		return
	}
	for row := range len(dst) / width {
		fill(dst[row*width+n:(row+1)*width], pad)
	}
}

// fill sets all of dst, by copying what is set already.
func fill[T value](dst []T, x T) {
	head := dst[:min(len(dst), 32)]
	for i := range head {
		head[i] = x
	}
	for done := len(head); done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}
