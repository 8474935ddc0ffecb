//go:build cuda

package device

import (
	"encoding/binary"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/kernel"
	"github.com/melforge/melforge/gpu/wire"
)

// maxClips of one piece of a batch.
const maxClips = 4096

// buffer is a chunk's place on the device.
type buffer struct {
	samples, out, tiles int // what fits
	room, marks         int // bytes of values and of sums

	pcm, frames, loudest, softest, records cu.DevicePtr
	values, sums                           cu.DevicePtr // before FP16, and of the tiles, of the kernel general

	copied, computed, drained cu.Event // what was done last with the buffer
}

func newBuffer(l wire.Layout, values bool) (*buffer, error) {
	b := &buffer{samples: l.Samples, out: l.Out, tiles: l.Out/(l.NMels*kernel.Tile) + maxClips}
	if values {
		b.room, b.marks = 8*l.Out, 16*l.NMels*b.tiles
	}
	var err error
	for _, a := range []struct {
		p *cu.DevicePtr
		n int
	}{
		{&b.pcm, 2 * l.Samples}, {&b.frames, 2 * l.Out}, {&b.loudest, 4 * maxClips},
		{&b.softest, 4 * b.tiles}, {&b.records, kernel.TileBytes * b.tiles},
		{&b.values, b.room}, {&b.sums, b.marks},
	} {
		if a.n == 0 {
			continue
		}
		if *a.p, err = cu.MemAlloc(int64(a.n)); err != nil {
			return b, err
		}
	}
	for _, e := range []*cu.Event{&b.copied, &b.computed, &b.drained} {
		if *e, err = cu.MakeEvent(cu.DisableTiming); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (b *buffer) tableBytes() int { return 16*maxClips + 8*b.tiles }

func (b *buffer) bytes() int64 {
	return int64(2*b.samples + 2*b.out + 4*maxClips + (4+kernel.TileBytes)*b.tiles + b.room + b.marks)
}

// free gives the device memory back. It runs only while the device is opened,
// before anything uses the buffer.
func (b *buffer) free() {
	for _, p := range []cu.DevicePtr{b.pcm, b.frames, b.loudest, b.softest, b.records, b.values, b.sums} {
		if p != 0 {
			_ = cu.MemFree(p) // it was allocated a moment ago
		}
	}
}

// clock follows one piece: it holds its table, which the device reads, and times
// it.
type clock struct {
	table  []byte      // pinned
	done   cu.Event    // the frames are in the host's memory
	times  bool        // whether the others are recorded
	events [6]cu.Event // begin and end of copy-in, compute and copy-out
}

// piece is what a table holds.
type piece struct {
	clips, tiles int
}

// fill writes the table of clips: the clips relative to the buffer, then their
// tiles.
func (c *clock) fill(clips []wire.Clip) piece {
	first := clips[0]
	at := 0
	put := func(v uint32) {
		binary.LittleEndian.PutUint32(c.table[at:], v)
		at += 4
	}
	for _, c := range clips {
		put(c.At - first.At)
		put(c.Samples)
		put(c.Out - first.Out)
		put(c.Frames)
	}
	p := piece{clips: len(clips)}
	for i, c := range clips {
		for f := uint32(0); f < c.Frames; f += kernel.Tile {
			put(uint32(i))
			put(f)
			p.tiles++
		}
	}
	return p
}

func (d *Device) makeClocks(n int) error {
	d.clocks = make(chan *clock, n)
	for range n {
		c := new(clock)
		var err error
		if c.done, err = cu.MakeEvent(cu.BlockingSyncEvent | cu.DisableTiming); err != nil {
			return err
		}
		for i := range c.events {
			if c.events[i], err = cu.MakeEvent(cu.DefaultEvent); err != nil {
				return err
			}
		}
		if c.table, err = pinned(d.buffers[0].tableBytes()); err != nil {
			return err
		}
		d.clocks <- c
	}
	return nil
}

// timedOf is of how many pieces one is timed: recording when a copy begins holds
// the next one up, by a fiftieth of the bus's rate with batches of 8 MB, and
// recording when it ends by a hundredth. Events that keep no time cost nothing.
const timedOf = 8

// mark records a beginning or an end, if the piece is timed.
func (c *clock) mark(event int, s cu.Stream) error {
	if !c.times {
		return nil
	}
	return c.events[event].Record(s)
}

// read is the time of a piece and, since they are not timed, of those after it.
func (c *clock) read() (wire.Timing, error) {
	var t wire.Timing
	if !c.times {
		return t, nil
	}
	for i, to := range []*time.Duration{&t.In, &t.Compute, &t.Out} {
		ms, err := c.events[2*i].Elapsed(c.events[2*i+1])
		if err != nil {
			return t, err
		}
		*to = time.Duration(timedOf * ms * float64(time.Millisecond))
	}
	return t, nil
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
