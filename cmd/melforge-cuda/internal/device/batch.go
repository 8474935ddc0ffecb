//go:build cuda

package device

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
	"gorgonia.org/cu"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/kernel"
	"github.com/melforge/melforge/gpu/wire"
)

// Pending is a batch on its way through the device.
type Pending struct {
	d      *Device
	pieces chan *clock // closed after the last
}

// Pending makes a batch's place in the order of those that are waited for.
func (d *Device) Pending() *Pending { return &Pending{d: d, pieces: make(chan *clock, cap(d.clocks))} }

// Start puts a batch on the streams, in pieces that fit a buffer. It waits only
// while the device is many pieces behind: so another goroutine must be in Wait.
func (d *Device) Start(b wire.Batch, p *Pending) error {
	defer close(p.pieces)
	for clips := b.Clips; len(clips) > 0; {
		n := d.fit(clips)
		c, err := d.piece(int(b.Slot), clips[:n])
		if err != nil {
			return err
		}
		p.pieces <- c
		clips = clips[n:]
	}
	return nil
}

// Wait waits until the batch's frames are in the host's memory. It runs on
// another thread than Start, in the order of the starts.
func (p *Pending) Wait() (wire.Timing, error) {
	var sum wire.Timing
	for c := range p.pieces {
		if err := c.done.Synchronize(); err != nil {
			return sum, fmt.Errorf("wait for the device: %w", err)
		}
		t, err := c.read()
		if err != nil {
			return sum, fmt.Errorf("read the device's clock: %w", err)
		}
		sum.Add(t)
		p.d.clocks <- c
	}
	return sum, nil
}

// fit is how many of the clips go into one buffer: at least one.
func (d *Device) fit(clips []wire.Clip) int {
	buf, l := d.buffers[d.next], d.setup.Layout
	n := 1
	for n < len(clips) && n < maxClips {
		c := clips[n]
		if int(c.At+c.Samples-clips[0].At) > buf.samples || int(c.Out-clips[0].Out)+int(l.OutOf(uint64(c.Frames))) > buf.out {
			break
		}
		n++
	}
	return n
}

// piece puts clips that fit a buffer on the streams.
func (d *Device) piece(slot int, clips []wire.Clip) (*clock, error) {
	c := <-d.clocks
	c.times = d.started%timedOf == 0
	d.started++
	buf := d.buffers[d.next]
	d.next = (d.next + 1) % len(d.buffers)
	if err := d.feed(buf, c, slot, clips); err != nil {
		return nil, err
	}
	return c, d.drain(buf, c, slot, clips)
}

// feed copies the samples in and computes.
func (d *Device) feed(buf *buffer, c *clock, slot int, clips []wire.Clip) error {
	p := c.fill(clips)
	first, last := clips[0], clips[len(clips)-1]
	samples := d.setup.Layout.SamplesOf(d.memory, slot)[2*first.At : 2*(last.At+last.Samples)]
	s := sequence{}
	s.do(func() error { return d.in.Wait(buf.computed, 0) })
	s.do(func() error { return c.mark(0, d.in) })
	s.do(func() error { return cu.MemcpyHtoDAsync(buf.pcm, pointer(samples), int64(len(samples)), d.in) })
	s.do(func() error { return c.mark(1, d.in) })
	s.do(func() error { return buf.copied.Record(d.in) })

	s.do(func() error { return d.compute.Wait(buf.drained, 0) })
	s.do(func() error { return d.ready(buf, c, p) })
	s.do(func() error { return d.compute.Wait(buf.copied, 0) })
	s.do(func() error { return c.mark(2, d.compute) })
	s.do(func() error { return d.launch(buf, p) })
	s.do(func() error { return c.mark(3, d.compute) })
	s.do(func() error { return buf.computed.Record(d.compute) })
	if s.err != nil {
		return fmt.Errorf("compute %d clips: %w", len(clips), s.err)
	}
	return nil
}

// ready starts the kernel that makes the records of a piece's tiles.
func (d *Device) ready(buf *buffer, c *clock, p piece) error {
	host, clips, tiles := pointer(c.table), int64(p.clips), int64(p.tiles)
	return d.prepare.Launch(min(8, (max(p.tiles, p.clips)+255)/256), 1, 1, 256, 1, 1, 0, d.compute, []unsafe.Pointer{
		unsafe.Pointer(&host), unsafe.Pointer(&clips), unsafe.Pointer(&buf.records), unsafe.Pointer(&tiles),
		unsafe.Pointer(&buf.loudest), unsafe.Pointer(&buf.softest)})
}

// launch starts the kernels on a buffer that is fed and ready.
func (d *Device) launch(buf *buffer, p piece) error {
	if d.fast {
		return d.launchMel(d.mel, buf, p)
	}
	values, sums, records := unsafe.Pointer(&buf.values), unsafe.Pointer(&buf.sums), unsafe.Pointer(&buf.records)
	err := d.general.Launch(p.tiles, 1, 1, kernel.GeneralBlock, 1, 1, d.shared, d.compute, []unsafe.Pointer{
		unsafe.Pointer(&buf.pcm), values, sums, records, unsafe.Pointer(&d.tables)})
	if err != nil {
		return err
	}
	return d.finish.Launch(p.tiles, 1, 1, kernel.FinishBlock, 1, 1, 0, d.compute, []unsafe.Pointer{
		values, sums, unsafe.Pointer(&buf.frames), records})
}

// launchMel starts the kernels mel, or a twin that takes more besides, and floors.
func (d *Device) launchMel(mel cu.Function, buf *buffer, p piece, more ...unsafe.Pointer) error {
	count, blocks := int64(p.tiles), (p.tiles+d.groups-1)/d.groups
	err := mel.Launch(min(d.blocks, blocks), 1, 1, d.groups*kernel.Threads, 1, 1, d.shared, d.compute, append([]unsafe.Pointer{
		unsafe.Pointer(&buf.pcm), unsafe.Pointer(&buf.frames), unsafe.Pointer(&buf.loudest), unsafe.Pointer(&buf.softest),
		unsafe.Pointer(&buf.records), unsafe.Pointer(&count), unsafe.Pointer(&d.tables)}, more...))
	if err != nil {
		return err
	}
	return d.floors.Launch((p.tiles+kernel.FloorTiles-1)/kernel.FloorTiles, 1, 1, kernel.FloorBlock, 1, 1, 0, d.compute, []unsafe.Pointer{
		unsafe.Pointer(&buf.frames), unsafe.Pointer(&buf.loudest), unsafe.Pointer(&buf.softest), unsafe.Pointer(&buf.records),
		unsafe.Pointer(&count), unsafe.Pointer(&d.tables)})
}

// drain copies the frames out.
func (d *Device) drain(buf *buffer, c *clock, slot int, clips []wire.Clip) error {
	l := d.setup.Layout
	first, last := clips[0], clips[len(clips)-1]
	out := l.OutputOf(d.memory, slot)[2*first.Out : 2*(uint64(last.Out)+l.OutOf(uint64(last.Frames)))]
	s := sequence{}
	s.do(func() error { return d.out.Wait(buf.computed, 0) })
	s.do(func() error { return c.mark(4, d.out) })
	s.do(func() error { return cu.MemcpyDtoHAsync(pointer(out), buf.frames, int64(len(out)), d.out) })
	s.do(func() error { return c.mark(5, d.out) })
	s.do(func() error { return c.done.Record(d.out) })
	s.do(func() error { return buf.drained.Record(d.out) })
	if s.err != nil {
		return fmt.Errorf("copy the frames out: %w", s.err)
	}
	return nil
}

// sequence does one step after the other until one fails.
type sequence struct{ err error }

func (s *sequence) do(step func() error) {
	if s.err == nil {
		s.err = step()
	}
}

// Provoke makes the fault that the setup asks for, once for each name of a
// file after the fault's, and returns at once.
func (d *Device) Provoke() error {
	fault, file, _ := strings.Cut(d.setup.Provoke, "@")
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err != nil || f.Close() != nil {
		return nil
	}
	switch fault {
	case wire.ProvokeHang:
		return d.spin.Launch(1, 1, 1, 1, 1, 1, 0, d.compute, []unsafe.Pointer{unsafe.Pointer(&d.tables)})
	case wire.ProvokeFault:
		return d.launch(new(buffer), piece{clips: 1, tiles: 1})
	case wire.ProvokeDeath:
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	return fmt.Errorf("cannot provoke %q", fault)
}
