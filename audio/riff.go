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

// format is what a fmt chunk says of the samples.
type format struct {
	tag      int
	channels int
	rate     int
	bits     int
}

// frameSize is the bytes of one sample of every channel.
func (f format) frameSize() int { return f.channels * f.bits / 8 }

// walk finds the sound in a RIFF file: its format and the bytes of its data
// chunk, cut to whole frames. It allocates nothing and trusts no size.
func walk(file []byte) (format, []byte, error) {
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WAVE" {
		return format{}, nil, errors.New("not a wav file: it does not begin with RIFF and WAVE")
	}
	riffSize := binary.LittleEndian.Uint32(file[4:])
	var f format
	for rest := file[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		rest = rest[8:]
		if id == "data" {
			if f.channels == 0 {
				return format{}, nil, errors.New("the data chunk comes before any fmt chunk")
			}
			body, err := dataBody(f, rest, size, int64(riffSize) == int64(len(file))-8)
			return f, body, err
		}
		if uint64(size) > uint64(len(rest)) {
			return format{}, nil, fmt.Errorf("truncated: chunk %q of %d bytes, found %d", id, size, len(rest))
		}
		if id == "fmt " {
			var err error
			if f, err = parseFormat(rest[:size]); err != nil {
				return format{}, nil, err
			}
		}
		// A chunk of odd size is followed by a byte of padding.
		rest = rest[min(uint64(size)+uint64(size&1), uint64(len(rest))):]
	}
	return format{}, nil, errors.New("no data chunk")
}

// dataBody is the data chunk's content, given what follows its header, the
// size it claims, and whether the RIFF header accounts for the whole file.
func dataBody(f format, rest []byte, size uint32, whole bool) ([]byte, error) {
	// A size of 0 is honest if the outer size is right, and then the rest is
	// other chunks; else the writer never came back to fill either in.
	stream := size == 0 && !whole || size == 0x7ffff000 || size >= 0xfffffff0
	if stream {
		return rest[:len(rest)-len(rest)%f.frameSize()], nil
	}
	if uint64(size) > uint64(len(rest)) {
		return nil, fmt.Errorf("truncated: expected %d bytes of data, found %d", size, len(rest))
	}
	if int64(size)%int64(f.frameSize()) != 0 {
		return nil, fmt.Errorf("%d bytes of data are not whole frames of %d bytes", size, f.frameSize())
	}
	return rest[:size], nil
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
