//go:build cuda

package device

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// benchTime is how long each rate is measured.
const benchTime = 400 * time.Millisecond

// Fill puts noise of speech's level into the memory's samples.
func Fill(l wire.Layout, memory []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	one := make([]int16, 1<<16)
	for slot := range l.Slots {
		b := l.SamplesOf(memory, slot)
		samples := unsafe.Slice((*int16)(pointer(b)), l.Samples)
		for i := range one {
			one[i] = int16(r.NormFloat64() * 2000)
		}
		for at := 0; at < len(samples); at += copy(samples[at:], one) {
		}
	}
}

// full is a batch of the benchmark's clips that fills a slot of a layout.
func full(c mel.Config, l wire.Layout, slot int) wire.Batch {
	b := wire.Batch{Slot: uint32(slot)}
	n := uint32(wire.BenchClip(c))
	step := (n + wire.Align - 1) / wire.Align * wire.Align
	frames := uint32(c.Frames(int(n)))
	out := uint32(l.OutOf(uint64(frames)))
	for i := uint32(0); int(i*step+n) <= l.Samples && int((i+1)*out) <= l.Out; i++ {
		b.Clips = append(b.Clips, wire.Clip{At: i * step, Samples: n, Out: i * out, Frames: frames})
	}
	return b
}

// Bench measures what the device and its bus can do. It runs on the device's
// thread.
func (d *Device) Bench(q *Queue) (wire.Rates, error) {
	r := wire.Rates{Chunk: d.Chunk, DeviceUsed: d.Used(), HostPinned: int64(len(d.memory)), Module: d.Module.Seconds(), Native: d.Native, Single: d.Single}
	if err := d.warm(); err != nil {
		return r, err
	}
	before, err := timed(d.copyIn, d.in)
	if err != nil {
		return r, err
	}
	if r.DeviceOnly, err = d.deviceOnly(); err != nil {
		return r, err
	}
	if err := d.hostToHost(q, &r); err != nil {
		return r, err
	}
	if r.Duplex, err = timed(d.exchange, d.in, d.out); err != nil {
		return r, err
	}
	after, err := timed(d.copyIn, d.in)
	r.BusBytes = max(before, after)
	r.Bus = r.BusBytes / float64(2*wire.BenchClip(d.setup.Config))
	return r, err
}

// warm takes every slot through every buffer once.
func (d *Device) warm() error {
	for i := range max(d.setup.Layout.Slots, len(d.buffers)) {
		clips := full(d.setup.Config, d.setup.Layout, i%d.setup.Layout.Slots).Clips
		c, err := d.piece(i%d.setup.Layout.Slots, clips[:d.fit(clips)])
		if err != nil {
			return err
		}
		if err := c.done.Synchronize(); err != nil {
			return err
		}
		d.clocks <- c
	}
	return nil
}

// timed repeats a step that puts n units of work on streams until benchTime has
// gone by, and returns units a second.
func timed(step func(i int) (float64, error), streams ...cu.Stream) (float64, error) {
	finish := func() error {
		for _, s := range streams {
			if err := s.Synchronize(); err != nil {
				return err
			}
		}
		return nil
	}
	p, err := newPace(streams)
	if err == nil {
		err = finish()
	}
	if err != nil {
		return 0, err
	}
	start, sum := time.Now(), 0.0
	for i := 0; time.Since(start) < benchTime; i++ {
		n, err := step(i)
		if err == nil {
			err = p.after(i)
		}
		if err != nil {
			return 0, err
		}
		sum += n
	}
	err = finish()
	return sum / time.Since(start).Seconds(), err
}

// pace keeps the host some steps ahead of the device, so that the device never
// waits for it, but not many.
type pace struct {
	streams []cu.Stream
	events  [2][]cu.Event // of the streams, at the ends of even and odd rows of steps
}

// row is how many steps go by between two looks at the device.
const row = 8

func newPace(streams []cu.Stream) (*pace, error) {
	p := &pace{streams: streams}
	for i := range p.events {
		for range streams {
			e, err := cu.MakeEvent(cu.BlockingSyncEvent | cu.DisableTiming)
			if err != nil {
				return nil, err
			}
			p.events[i] = append(p.events[i], e)
		}
	}
	return p, nil
}

// after is called after step i. At the end of a row it waits for the one before.
func (p *pace) after(i int) error {
	if i%row != row-1 {
		return nil
	}
	turn := i / row % 2
	for k, s := range p.streams {
		if err := p.events[turn][k].Record(s); err != nil {
			return err
		}
		if i < row {
			continue
		}
		if err := p.events[1-turn][k].Synchronize(); err != nil {
			return err
		}
	}
	return nil
}

// deviceBatch is the clips of a batch that stays on the device: so many that
// starting a kernel costs little.
const deviceBatch = 256

// deviceOnly is how many clips a second the kernels compute, in a buffer of its
// own where there is memory for it.
func (d *Device) deviceOnly() (float64, error) {
	c := d.setup.Config
	l := wire.NewLayout(c, 1, deviceBatch*wire.BenchClip(c))
	buf, err := newBuffer(l, !d.fast)
	defer buf.free()
	if errors.Is(err, cu.OutOfMemory) {
		return d.kernels(d.buffers[0], wire.NewLayout(c, 1, d.Chunk))
	}
	if err != nil {
		return 0, err
	}
	return d.kernels(buf, l)
}

// kernels is the rate on one buffer, which it fills with the first slot's samples
// over and over.
func (d *Device) kernels(buf *buffer, l wire.Layout) (float64, error) {
	samples := d.setup.Layout.SamplesOf(d.memory, 0)
	for at := 0; at < 2*buf.samples; at += len(samples) {
		n := min(len(samples), 2*buf.samples-at)
		if err := cu.MemcpyHtoDAsync(buf.pcm+cu.DevicePtr(at), pointer(samples), int64(n), d.compute); err != nil {
			return 0, err
		}
	}
	clips := full(d.setup.Config, l, 0).Clips
	table, err := pinned(buf.tableBytes())
	if err != nil {
		return 0, err
	}
	clock := &clock{table: table}
	p := clock.fill(clips)
	if err := d.ready(buf, clock, p); err != nil {
		return 0, err
	}
	return timed(func(int) (float64, error) { return float64(len(clips)), d.launch(buf, p) }, d.compute)
}

// hostToHost sends every slot through the device as often as it can.
func (d *Device) hostToHost(q *Queue, r *wire.Rates) error {
	slots := d.setup.Layout.Slots
	idle, batches := make(chan int, slots), make([]wire.Batch, slots)
	for slot := range slots {
		batches[slot] = full(d.setup.Config, d.setup.Layout, slot)
		idle <- slot
	}
	clips, start := 0, time.Now()
	for time.Since(start) < 3*benchTime {
		slot := <-idle
		err := q.Start(batches[slot], func(t wire.Timing) {
			r.Timing.Add(t)
			idle <- slot
		})
		if err != nil {
			return fmt.Errorf("host to host: %w", err)
		}
		clips += len(batches[slot].Clips)
	}
	for range slots {
		<-idle
	}
	r.Elapsed = time.Since(start).Seconds()
	r.HostToHost = float64(clips) / r.Elapsed
	return nil
}
