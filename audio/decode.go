package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

// decode turns the data chunk's whole frames into mono samples.
func (f format) decode(body []byte) ([]int16, error) {
	switch {
	case f.tag == tagFloat:
		return f.decodeFloats(body)
	case f.bits == 16 && f.channels == 1:
		return decodeMono16(body), nil
	default:
		return f.decodeInts(body)
	}
}

// decodeMono16 is the direct path for what Melforge itself writes.
func decodeMono16(body []byte) []int16 {
	out := make([]int16, len(body)/2)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(body[2*i:]))
	}
	return out
}

// decodeInts decodes integers of any width through go-audio. The library sees
// a header of our making and not the file's, since it would believe any size,
// and no padding after odd data, since it would take that for a sample.
func (f format) decodeInts(body []byte) ([]int16, error) {
	file := appendHeader(make([]byte, 0, headerSize+len(body)), f, len(body))
	file = append(file, body...)
	dec := wav.NewDecoder(bytes.NewReader(file))
	m := newMixer(f, len(body))
	// Integers of 8 bits are unsigned, and of other widths signed.
	bias, unit := 0, math.Ldexp(1, f.bits-16)
	if f.bits == 8 {
		bias = 128
	}
	buf := &goaudio.IntBuffer{Data: make([]int, 4096)}
	for left := 8 * len(body) / f.bits; left > 0; {
		n, err := dec.PCMBuffer(buf)
		if err != nil {
			return nil, fmt.Errorf("decode %d-bit samples: %w", f.bits, err)
		}
		if n == 0 {
			return nil, fmt.Errorf("decode %d-bit samples: the last %d are missing", f.bits, left)
		}
		for _, v := range buf.Data[:n] {
			m.add(float64(v-bias) / unit)
		}
		left -= n
	}
	return m.out, nil
}

// decodeFloats decodes 32-bit floats, whose full scale is 1.0. (go-audio reads
// their bits as integers.)
func (f format) decodeFloats(body []byte) ([]int16, error) {
	m := newMixer(f, len(body))
	for i := 0; i < len(body); i += 4 {
		v := float64(math.Float32frombits(binary.LittleEndian.Uint32(body[i:])))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("sample %d is %v: the file is damaged", i/f.frameSize(), v)
		}
		m.add(v * fullScale)
	}
	return m.out, nil
}

// mixer averages interleaved channels into mono.
type mixer struct {
	out      []int16
	channels int
	seen     int // channels of the current frame
	sum      float64
}

func newMixer(f format, size int) *mixer {
	return &mixer{out: make([]int16, 0, size/f.frameSize()), channels: f.channels}
}

// add takes the next sample, in int16 units.
func (m *mixer) add(v float64) {
	m.sum += v
	if m.seen++; m.seen < m.channels {
		return
	}
	m.out = append(m.out, toInt16(m.sum/float64(m.channels)))
	m.sum, m.seen = 0, 0
}

// toInt16 rounds v to the nearest int16, ties to even, and clamps.
func toInt16(v float64) int16 {
	return int16(min(max(math.RoundToEven(v), math.MinInt16), math.MaxInt16))
}
