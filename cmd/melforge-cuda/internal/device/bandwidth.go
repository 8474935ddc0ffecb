//go:build cuda

package device

import (
	"gorgonia.org/cu"

	"github.com/melforge/melforge/gpu/wire"
)

// Bandwidth measures the bus: in, out, and both ways at once, in copies of a
// buffer each. It runs on the device's thread.
func (d *Device) Bandwidth() (wire.Bandwidth, error) {
	var b wire.Bandwidth
	if err := d.warm(); err != nil {
		return b, err
	}
	free, _, err := cu.MemInfo()
	if err != nil {
		return b, err
	}
	b.Free = free
	for _, m := range []struct {
		rate *float64
		step func(i int) (float64, error)
	}{{&b.In, d.copyIn}, {&b.Out, d.copyOut}, {&b.Both, d.copyBoth}} {
		var err error
		if *m.rate, err = timed(m.step, d.in, d.out); err != nil {
			return b, err
		}
	}
	return b, nil
}

// copyIn copies a slot's samples, as many as fit, to a buffer.
func (d *Device) copyIn(i int) (float64, error) {
	buf := d.buffers[i%len(d.buffers)]
	b := d.setup.Layout.SamplesOf(d.memory, i%d.setup.Layout.Slots)
	n := min(len(b), 2*buf.samples)
	return float64(n), cu.MemcpyHtoDAsync(buf.pcm, pointer(b), int64(n), d.in)
}

// copyOut copies a buffer's frames to a slot.
func (d *Device) copyOut(i int) (float64, error) {
	buf := d.buffers[i%len(d.buffers)]
	b := d.setup.Layout.OutputOf(d.memory, i%d.setup.Layout.Slots)
	n := min(len(b), 2*buf.out)
	return float64(n), cu.MemcpyDtoHAsync(pointer(b), buf.frames, int64(n), d.out)
}

// copyBoth does both at once.
func (d *Device) copyBoth(i int) (float64, error) {
	in, err := d.copyIn(i)
	if err != nil {
		return 0, err
	}
	out, err := d.copyOut(i)
	return in + out, err
}

// exchange copies the samples of a batch in and the frames of another out, both
// at once, and returns its clips.
func (d *Device) exchange(i int) (float64, error) {
	slot, buf := i%d.setup.Layout.Slots, d.buffers[i%len(d.buffers)]
	clips := full(d.setup.Config, d.setup.Layout, slot).Clips
	clips = clips[:d.fit(clips)]
	last := clips[len(clips)-1]
	in := d.setup.Layout.SamplesOf(d.memory, slot)[:2*(last.At+last.Samples)]
	out := d.setup.Layout.OutputOf(d.memory, slot)[:2*(uint64(last.Out)+d.setup.Layout.OutOf(uint64(last.Frames)))]
	if err := cu.MemcpyHtoDAsync(buf.pcm, pointer(in), int64(len(in)), d.in); err != nil {
		return 0, err
	}
	return float64(len(clips)), cu.MemcpyDtoHAsync(pointer(out), buf.frames, int64(len(out)), d.out)
}
