package manifests

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
	// MelOffset is where the FP16 frames start in the file; they are contiguous.
	MelOffset int64 `json:"mel_offset"`
	NMels     int   `json:"n_mels"`
	// Engine is the kind of engine that computed it: "cpu" or "cuda".
	Engine string `json:"engine"`
}
