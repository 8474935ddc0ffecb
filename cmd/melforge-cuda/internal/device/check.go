//go:build cuda

package device

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/x448/float16"
	"gorgonia.org/cu"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/kernel"
	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

// Difference is how far the device is from the reference.
type Difference struct {
	Exact  float64 // the largest before rounding to FP16
	Values int
	Other  int     // FP16 values that differ
	Apart  int     // the most units in the last place that one of them does
	Near0  float64 // the largest difference of those that are more than one apart, which lie near 0
	Pad    bool    // whether the padding's value differs
}

// Compare computes a clip and compares it with the reference.
func (d *Device) Compare(samples []int16) (Difference, error) {
	want, pad, err := mel.Reference(d.setup.Config, samples)
	if err != nil {
		return Difference{}, err
	}
	clip := wire.Clip{Samples: uint32(len(samples)), Frames: uint32(d.setup.Config.Frames(len(samples)))}
	exact, halves, err := d.exactly(clip, samples)
	if err != nil {
		return Difference{}, err
	}
	floor := math.Inf(-1)
	if c := d.setup.Config; d.fast && c.DynamicRange > 0 {
		for _, v := range exact {
			floor = max(floor, v-c.DynamicRange/c.Divisor)
		}
	}
	diff := Difference{Values: len(want), Pad: halves[len(want)] != half(pad)}
	for i, w := range want {
		diff.Exact = max(diff.Exact, math.Abs(max(exact[i], floor)-w))
		diff.half(halves[i], w)
	}
	return diff, nil
}

func half(v float64) uint16 { return float16.Fromfloat32(float32(v)).Bits() }

// half compares one FP16 value.
func (d *Difference) half(got uint16, want float64) {
	w := half(want)
	if got == w {
		return
	}
	d.Other++
	apart := rank(got) - rank(w)
	if apart < 0 {
		apart = -apart
	}
	d.Apart = max(d.Apart, apart)
	if apart > 1 {
		d.Near0 = max(d.Near0, math.Abs(want))
	}
}

// rank numbers FP16 values in their order.
func rank(h uint16) int {
	if h&0x8000 != 0 {
		return -int(h & 0x7fff)
	}
	return int(h)
}

// exactly computes one clip and gives the unrounded values too: of the kernel
// mel's twin those before the floor.
func (d *Device) exactly(c wire.Clip, samples []int16) (exact []float64, halves []uint16, err error) {
	n := int(c.Frames) * d.setup.Config.NMels
	exact, halves = make([]float64, n), make([]uint16, n+1)
	buf := d.buffers[0]
	clock := <-d.clocks
	defer func() { d.clocks <- clock }()
	p := clock.fill([]wire.Clip{c})
	room, err := cu.MemAlloc(int64(4 * n))
	if err != nil {
		return nil, nil, fmt.Errorf("allocate %d floats: %w", n, err)
	}
	defer func() { _ = cu.MemFree(room) }()
	run, floats := func() error { return d.launch(buf, p) }, make([]float32, n)
	if d.fast {
		twin, err := d.twin()
		if err != nil {
			return nil, nil, err
		}
		run = func() error { return d.launchMel(twin, buf, p, unsafe.Pointer(&room)) }
		defer func(all int) { d.blocks = all }(d.blocks)
		d.blocks = 3 // so that a clip takes several rounds of them
	}
	s := sequence{}
	// Poison, so that a value that is not written shows.
	s.do(func() error { return cu.MemsetD32(room, 0x7fc00000, int64(n)) })
	s.do(func() error { return cu.MemsetD16(buf.frames, 0x7e00, int64(n+1)) })
	s.do(func() error {
		return cu.MemcpyHtoD(buf.pcm, unsafe.Pointer(unsafe.SliceData(samples)), int64(2*len(samples)))
	})
	s.do(cu.Synchronize) // the stream does not wait for what went before
	s.do(func() error { return d.ready(buf, clock, p) })
	s.do(run)
	s.do(func() error { return d.compute.Synchronize() })
	s.do(func() error { return cu.MemcpyDtoH(unsafe.Pointer(&floats[0]), room, int64(4*n)) })
	s.do(func() error { return cu.MemcpyDtoH(unsafe.Pointer(&halves[0]), buf.frames, int64(2*n+2)) })
	if !d.fast {
		s.do(func() error { return cu.MemcpyDtoH(unsafe.Pointer(&exact[0]), buf.values, int64(8*n)) })
	}
	if s.err != nil {
		return nil, nil, fmt.Errorf("compute a clip: %w", s.err)
	}
	for i := range exact {
		if d.fast {
			exact[i] = float64(floats[i])
		}
	}
	return exact, halves, nil
}

// twin loads the kernel mel that also gives unrounded values.
func (d *Device) twin() (f cu.Function, err error) {
	module, _, err := d.loadImage(kernel.Exact())
	if err != nil {
		return f, err
	}
	name := "mel_exact"
	if d.Single {
		name = "mel_single_exact"
	}
	if err := functions(module, map[string]*cu.Function{name: &f}); err != nil {
		return f, err
	}
	return f, allowShared(f, d.shared)
}
