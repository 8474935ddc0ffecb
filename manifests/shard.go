package manifests

import "fmt"

// Shard is what dataset.json records of one HDF5 file: enough to check it, and
// to read its frames with pread or mmap without an HDF5 library.
type Shard struct {
	// File is the path relative to the dataset's folder, with forward slashes.
	File string `json:"file"`
	// Bytes and CRC32C (eight hex digits) cover the whole file.
	Bytes  int64  `json:"bytes"`
	CRC32C string `json:"crc32c"`
	// Clips is the number of rows, Frames their frames together.
	Clips  int   `json:"clips"`
	Frames int64 `json:"frames"`
	// MelOffset is where the FP16 values start in the file; they are contiguous.
	MelOffset int64 `json:"mel_offset"`
	NMels     int   `json:"n_mels"`
	// Layout is the dataset's. PaddedFrames is the length of every row of a
	// padded shard, and zero in a packed one.
	Layout       Layout `json:"layout,omitempty"`
	PaddedFrames int    `json:"padded_frames,omitempty"`
	// Engine is the kind of engine that computed it: "cpu" or "cuda".
	Engine string `json:"engine"`
}

func (s *Shard) validate(d *Dataset) error {
	if err := local(s.File); err != nil {
		return err
	}
	switch {
	case d.Mel == nil:
		return fmt.Errorf("shard %s, but no mel configuration", s.File)
	case s.Layout != d.Layout:
		return fmt.Errorf("shard %s is %s, but the dataset %s", s.File, s.Layout, d.Layout)
	case s.Clips < 1 || s.Frames < 0 || s.Bytes < 1 || s.MelOffset < 0 || s.NMels != d.Mel.NMels ||
		s.PaddedFrames < 0 || (s.PaddedFrames > 0) != (s.Layout == Padded):
		return fmt.Errorf("shard %s: impossible numbers", s.File)
	}
	return nil
}
