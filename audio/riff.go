package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The format tags that are understood.
const (
	tagPCM        = 0x0001
	tagFloat      = 0x0003
	tagExtensible = 0xfffe // the true tag opens the GUID at the chunk's end
)

// guidTail is what follows the tag in an extensible format's GUID.
var guidTail = []byte("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71")

var errNotWAV = errors.New("not a wav file: it does not begin with RIFF and WAVE")

// format is what a fmt chunk says of the samples.
type format struct {
	tag      int
	channels int
	rate     int
	bits     int
}

// frameSize is the bytes of one sample of every channel.
func (f format) frameSize() int { return f.channels * f.bits / 8 }

// sound is where in a file its samples are, in whole frames.
type sound struct {
	format
	offset, size int64
}

// frames is the number of samples of each channel.
func (s sound) frames() int { return int(s.size / int64(s.frameSize())) }

// canonical recognises a file by its first bytes: the header that [AppendWAV]
// writes, consistent in itself, before sound of a few MB at most. (A size of 0
// can mean that it is not known.)
func canonical(b []byte) (sound, bool) {
	if len(b) < headerSize || string(b[12:16]) != "fmt " || string(b[36:40]) != "data" {
		return sound{}, false
	}
	f, err := parseFormat(b[20:36])
	size := binary.LittleEndian.Uint32(b[40:])
	if err != nil || size == 0 || size > 8<<20 || size%uint32(f.frameSize()) != 0 {
		return sound{}, false
	}
	// What the header would be, had we written it, is all the rest to compare.
	if string(b[:headerSize]) != string(appendHeader(make([]byte, 0, headerSize), f, int(size))) {
		return sound{}, false
	}
	return sound{format: f, offset: headerSize, size: int64(size)}, true
}

// source gives the bytes of a file.
type source interface {
	// at gives the n bytes at an offset, at most 40, until the next call.
	at(offset int64, n int) ([]byte, error)
}

// content is a file in memory.
type content []byte

func (c content) at(offset int64, n int) ([]byte, error) { return c[offset:][:n], nil }

// walk finds the sound in a RIFF file of size bytes. It reads headers only, and
// trusts no size.
func walk(file source, size int64) (sound, error) {
	if size < 12 {
		return sound{}, errNotWAV
	}
	b, err := file.at(0, 12)
	if err != nil {
		return sound{}, err
	}
	if string(b[:4]) != "RIFF" || string(b[8:]) != "WAVE" {
		return sound{}, errNotWAV
	}
	whole := int64(binary.LittleEndian.Uint32(b[4:])) == size-8
	var s sound
	for at := int64(12); size-at >= 8; {
		if b, err = file.at(at, 8); err != nil {
			return sound{}, err
		}
		id, length := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		at += 8
		if id == "data" {
			if s.channels == 0 {
				return sound{}, errors.New("the data chunk comes before any fmt chunk")
			}
			s.offset = at
			s.size, err = dataSize(s.format, size-at, length, whole)
			return s, err
		}
		if length > size-at {
			return sound{}, fmt.Errorf("truncated: chunk %q of %d bytes, found %d", id, length, size-at)
		}
		if id == "fmt " {
			// An extensible format has 40 bytes; longer ones say no more.
			if b, err = file.at(at, int(min(length, 40))); err != nil {
				return sound{}, err
			}
			if s.format, err = parseFormat(b); err != nil {
				return sound{}, err
			}
		}
		at += length + length&1 // a chunk of odd size is followed by a byte of padding
	}
	return sound{}, errors.New("no data chunk")
}

// dataSize is the length of the data chunk's content in whole frames, given how
// many bytes follow its header, how many it claims, and whether the RIFF header
// accounts for the whole file.
func dataSize(f format, rest, claimed int64, whole bool) (int64, error) {
	frame := int64(f.frameSize())
	// A size of 0 is honest if the outer size is right, and then the rest is
	// other chunks; else the writer never came back to fill either in.
	stream := claimed == 0 && !whole || claimed == 0x7ffff000 || claimed >= 0xfffffff0
	switch {
	case stream:
		return rest - rest%frame, nil
	case claimed > rest:
		return 0, fmt.Errorf("truncated: expected %d bytes of data, found %d", claimed, rest)
	case claimed%frame != 0:
		return 0, fmt.Errorf("%d bytes of data are not whole frames of %d bytes", claimed, frame)
	}
	return claimed, nil
}

// parseFormat reads the content of a fmt chunk.
func parseFormat(b []byte) (format, error) {
	if len(b) < 16 {
		return format{}, fmt.Errorf("fmt chunk of %d bytes, want 16 or more", len(b))
	}
	le := binary.LittleEndian
	f := format{
		tag:      int(le.Uint16(b)),
		channels: int(le.Uint16(b[2:])),
		rate:     int(le.Uint32(b[4:])),
		bits:     int(le.Uint16(b[14:])),
	}
	if f.tag == tagExtensible {
		if len(b) < 40 || !bytes.Equal(b[26:40], guidTail) {
			return format{}, errors.New("extensible fmt chunk of an unknown kind: convert it to 16-bit PCM")
		}
		f.tag = int(le.Uint16(b[24:]))
	}
	return f, f.check(int(le.Uint16(b[12:])))
}

// check reports what is wrong with f, given the frame size its chunk claims.
func (f format) check(frameSize int) error {
	switch {
	case f.rate < minRate || f.rate > maxRate:
		return fmt.Errorf("sample rate %d is outside %d to %d", f.rate, minRate, maxRate)
	case f.channels == 0:
		return errors.New("fmt chunk says 0 channels")
	case f.tag == tagPCM && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32):
	case f.tag == tagFloat && f.bits == 32:
	default:
		return fmt.Errorf("format %#04x of %d bits is not supported: convert it to 16-bit PCM", f.tag, f.bits)
	}
	if frameSize != f.frameSize() {
		return fmt.Errorf("fmt chunk says %d bytes a frame, but %d channels of %d bits make %d",
			frameSize, f.channels, f.bits, f.frameSize())
	}
	return nil
}
