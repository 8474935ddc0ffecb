package audio

import "encoding/binary"

// Rates outside these bounds are taken for damage, not for sound.
const (
	minRate = 1000
	maxRate = 768000
)

// ReadWAV reads the wav file at path as mono 16-bit sound. See [DecodeWAV].
func ReadWAV(path string) (PCM, error) {
	f, err := OpenWAV(path)
	if err != nil {
		return PCM{}, err
	}
	defer f.Close()
	p := PCM{Rate: f.Rate(), Samples: make([]int16, f.Samples())}
	return p, f.ReadInto(p.Samples)
}

// DecodeWAV decodes a wav file of 8, 16, 24 or 32-bit integers or 32-bit
// floats. Channels are averaged; wider samples are rounded to 16 bits and
// clamped. Other chunks are skipped.
//
// A data chunk that claims more bytes than there are is an error, except for
// the sizes that programs write to a pipe, where they cannot go back and fill
// in the truth: then the sound goes on to the end of the file.
func DecodeWAV(data []byte) (PCM, error) {
	s, err := walk(content(data), int64(len(data)))
	if err != nil {
		return PCM{}, err
	}
	samples, err := s.decode(data[s.offset:][:s.size])
	if err != nil {
		return PCM{}, err
	}
	return PCM{Rate: s.rate, Samples: samples}, nil
}

// headerSize is that of the canonical wav file: RIFF, fmt and data headers.
const headerSize = 44

// AppendWAV appends p to dst as a mono 16-bit wav file with the canonical
// 44-byte header, and returns the extended slice. Equal sounds give equal bytes.
func AppendWAV(dst []byte, p PCM) []byte {
	f := format{tag: tagPCM, channels: 1, rate: p.Rate, bits: 16}
	dst = appendHeader(dst, f, 2*len(p.Samples))
	for _, s := range p.Samples {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(s))
	}
	return dst
}

// appendHeader appends the canonical header of a file with size bytes of data.
func appendHeader(dst []byte, f format, size int) []byte {
	le := binary.LittleEndian
	dst = append(dst, "RIFF"...)
	dst = le.AppendUint32(dst, uint32(headerSize-8+size))
	dst = append(dst, "WAVEfmt "...)
	dst = le.AppendUint32(dst, 16)
	dst = le.AppendUint16(dst, uint16(f.tag))
	dst = le.AppendUint16(dst, uint16(f.channels))
	dst = le.AppendUint32(dst, uint32(f.rate))
	dst = le.AppendUint32(dst, uint32(f.rate*f.frameSize()))
	dst = le.AppendUint16(dst, uint16(f.frameSize()))
	dst = le.AppendUint16(dst, uint16(f.bits))
	dst = append(dst, "data"...)
	return le.AppendUint32(dst, uint32(size))
}
