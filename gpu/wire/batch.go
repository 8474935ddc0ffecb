// Package wire is what the GPU engine and its worker process, melforge-cuda,
// say to each other, and how the memory that they share is laid out.
package wire

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Align is the unit of places in a slot, in samples and in FP16 values: 16
// bytes, which is what the device likes to read at once.
const Align = 8

// Clip is where a clip of a batch lies in its slot. After its last frame comes
// the value of its padding.
type Clip struct {
	At      uint32 // first sample
	Samples uint32
	Out     uint32 // first FP16 value
	Frames  uint32
}

// Batch asks for the mels of the clips of a slot, in the order in which they
// lie there.
type Batch struct {
	Slot  uint32
	Clips []Clip
}

const clipSize = 16

// Encode is the batch as a request.
func (b Batch) Encode() []byte {
	req := make([]byte, 0, 4+clipSize*len(b.Clips))
	req = binary.LittleEndian.AppendUint32(req, b.Slot)
	for _, c := range b.Clips {
		for _, v := range [...]uint32{c.At, c.Samples, c.Out, c.Frames} {
			req = binary.LittleEndian.AppendUint32(req, v)
		}
	}
	return req
}

// DecodeBatch reads a request and checks that it stays within the layout.
func DecodeBatch(req []byte, l Layout) (Batch, error) {
	if len(req) < 4 || (len(req)-4)%clipSize != 0 {
		return Batch{}, fmt.Errorf("request of %d bytes is no batch", len(req))
	}
	b := Batch{Slot: binary.LittleEndian.Uint32(req), Clips: make([]Clip, (len(req)-4)/clipSize)}
	if int64(b.Slot) >= int64(l.Slots) {
		return Batch{}, fmt.Errorf("slot %d of %d", b.Slot, l.Slots)
	}
	var at, out uint64 // where the clip before ends
	for i := range b.Clips {
		field := func(j int) uint32 { return binary.LittleEndian.Uint32(req[4+clipSize*i+4*j:]) }
		c := Clip{At: field(0), Samples: field(1), Out: field(2), Frames: field(3)}
		b.Clips[i] = c
		outside := c.At%Align != 0 || c.Out%Align != 0 || c.Samples == 0 || c.Frames == 0 ||
			uint64(c.At) < at || uint64(c.Out) < out
		at, out = uint64(c.At)+uint64(c.Samples), uint64(c.Out)+l.OutOf(uint64(c.Frames))
		if outside || at > uint64(l.Samples) || out > uint64(l.Out) {
			return Batch{}, fmt.Errorf("clip %d of the batch lies outside its place: %+v", i, c)
		}
	}
	return b, nil
}

// Timing is how long a batch took on the device, by its own clock. Batches
// overlap, so the sums of several say more than their times together.
type Timing struct {
	In      time.Duration // samples to the device
	Compute time.Duration
	Out     time.Duration // frames from the device
}

// Add adds another batch's times.
func (t *Timing) Add(o Timing) { t.In, t.Compute, t.Out = t.In+o.In, t.Compute+o.Compute, t.Out+o.Out }

// Encode is the timing as a reply.
func (t Timing) Encode() []byte {
	b := make([]byte, 0, 24)
	for _, d := range [...]time.Duration{t.In, t.Compute, t.Out} {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	return b
}

// DecodeTiming reads a reply.
func DecodeTiming(b []byte) (Timing, error) {
	if len(b) != 24 {
		return Timing{}, fmt.Errorf("reply of %d bytes is no timing", len(b))
	}
	at := func(i int) time.Duration { return time.Duration(binary.LittleEndian.Uint64(b[8*i:])) }
	return Timing{In: at(0), Compute: at(1), Out: at(2)}, nil
}
