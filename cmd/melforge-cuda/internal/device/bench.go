//go:build cuda

package device

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/melforge/melforge/gpu/wire"
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

// full is a batch of longest clips that fills a slot.
func full(s wire.Setup, slot int) wire.Batch {
	b := wire.Batch{Slot: uint32(slot)}
	n := uint32(s.Config.MaxSamples())
	step := (n + wire.Align - 1) / wire.Align * wire.Align
	frames := uint32(s.Config.Frames(int(n)))
	out := uint32(s.Layout.OutOf(uint64(frames)))
	for i := uint32(0); int(i*step+n) <= s.Layout.Samples && int((i+1)*out) <= s.Layout.Out; i++ {
		b.Clips = append(b.Clips, wire.Clip{At: i * step, Samples: n, Out: i * out, Frames: frames})
	}
	return b
}

// Bench measures what the device and its bus can do. It runs on the device's
// thread, with the queue of which nobody calls Run.
func (d *Device) Bench(q *Queue) (wire.Rates, error) {
	r := wire.Rates{Chunk: d.Chunk, DeviceUsed: d.Used(), HostPinned: int64(len(d.memory)), Module: d.Module.Seconds(), Native: d.Native, Single: d.Single}
	if err := d.warm(); err != nil {
		return r, err
	}
	before, err := d.bus()
	if err != nil {
		return r, err
	}
	if r.DeviceOnly, err = d.deviceOnly(); err != nil {
		return r, err
	}
	if err := d.hostToHost(q, &r); err != nil {
		return r, err
	}
	after, err := d.bus()
	r.BusBytes = max(before, after)
	r.Bus = r.BusBytes / float64(2*d.setup.Config.MaxSamples())
	return r, err
}

// warm takes every slot through every buffer once.
func (d *Device) warm() error {
	for i := range max(d.setup.Layout.Slots, len(d.buffers)) {
		clips := full(d.setup, i%d.setup.Layout.Slots).Clips
		c, err := d.piece(i%d.setup.Layout.Slots, clips[:d.fit(clips)])
		if err != nil {
			return err
		}
		if err := c.events[5].Synchronize(); err != nil {
			return err
		}
		d.clocks <- c
	}
	return nil
}

// timed repeats a step that puts n units of work on a stream until benchTime
// has gone by, and returns units a second.
func timed(s cu.Stream, step func(i int) (float64, error)) (float64, error) {
	if err := s.Synchronize(); err != nil {
		return 0, err
	}
	start, sum := time.Now(), 0.0
	for i := 0; time.Since(start) < benchTime; i++ {
		n, err := step(i)
		if err != nil {
			return 0, err
		}
		sum += n
		if i%16 == 15 { // not too far ahead of the device
			if err := s.Synchronize(); err != nil {
				return 0, err
			}
		}
	}
	err := s.Synchronize()
	return sum / time.Since(start).Seconds(), err
}

// bus is how many bytes a second of samples reach the device when nothing else
// happens.
func (d *Device) bus() (float64, error) {
	return timed(d.in, func(i int) (float64, error) {
		buf := d.buffers[i%len(d.buffers)]
		b := d.setup.Layout.SamplesOf(d.memory, i%d.setup.Layout.Slots)
		n := min(len(b), 2*buf.samples)
		return float64(n), cu.MemcpyHtoDAsync(buf.pcm, pointer(b), int64(n), d.in)
	})
}

// deviceOnly is how many clips a second the kernels compute.
func (d *Device) deviceOnly() (float64, error) {
	clips := full(d.setup, 0).Clips
	clips = clips[:d.fit(clips)]
	c := <-d.clocks
	p := c.fill(clips)
	for _, buf := range d.buffers { // warm has fed them
		if err := d.ready(buf, c, p); err != nil {
			return 0, err
		}
	}
	rate, err := timed(d.compute, func(i int) (float64, error) {
		return float64(len(clips)), d.launch(d.mel, d.buffers[i%len(d.buffers)], p)
	})
	d.clocks <- c
	return rate, err
}

// hostToHost sends every slot through the device as often as it can.
func (d *Device) hostToHost(q *Queue, r *wire.Rates) error {
	var mu sync.Mutex
	clips, start, end := 0, time.Now(), time.Now()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for slot := range d.setup.Layout.Slots {
		b := full(d.setup, slot)
		wg.Go(func() {
			for time.Since(start) < 3*benchTime {
				t := q.Do(b)
				mu.Lock()
				clips += len(b.Clips)
				r.Timing.Add(t)
				end = time.Now()
				mu.Unlock()
			}
		})
	}
	go func() {
		wg.Wait()
		close(stop)
	}()
	if err := q.Run(stop); err != nil {
		return fmt.Errorf("host to host: %w", err)
	}
	r.Elapsed = end.Sub(start).Seconds()
	r.HostToHost = float64(clips) / r.Elapsed
	return nil
}
