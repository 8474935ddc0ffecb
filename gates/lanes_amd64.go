package gates

import "golang.org/x/sys/cpu"

// step is how many samples of a lane the assembly takes at a time.
const step = 8

// bestKernel is the fastest kernel that this machine has for such hops.
func bestKernel(hop int) kernel {
	switch {
	case hop%step != 0:
		return filterPlain
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ:
		return filter512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return filter256
	}
	return filterPlain
}

// coefficients are the filters', each as often as there are lanes.
type coefficients [8][lanes]float64

func (w *weighting) coefficients() *coefficients {
	var c coefficients
	for i, v := range [...]float64{w.shelf.b0, w.shelf.b1, w.shelf.b2, w.shelf.a1, w.shelf.a2, 2, w.high.a1, w.high.a2} {
		for lane := range c[i] {
			c[i][lane] = v
		}
	}
	return &c
}

// check holds the slices to what the assembly relies on.
func check(dst []float64, samples []int16, offsets *[lanes]int, hop, length int) {
	_ = dst[lanes*length-1]
	for _, from := range offsets {
		_ = samples[from:][hop*length-1]
	}
}

func filter512(dst []float64, w *weighting, samples []int16, offsets *[lanes]int, hop, length int) {
	check(dst, samples, offsets, hop, length)
	lanes512(&dst[0], w.coefficients(), &samples[0], offsets, hop/step, length)
}

func filter256(dst []float64, w *weighting, samples []int16, offsets *[lanes]int, hop, length int) {
	check(dst, samples, offsets, hop, length)
	c := w.coefficients()
	lanes256(&dst[0], c, &samples[0], &offsets[0], hop/step, length)
	lanes256(&dst[lanes/2], c, &samples[0], &offsets[lanes/2], hop/step, length)
}

//go:noescape
func lanes512(dst *float64, c *coefficients, samples *int16, offsets *[lanes]int, steps, length int)

// lanes256 does four of the eight lanes.
//
//go:noescape
func lanes256(dst *float64, c *coefficients, samples *int16, offsets *int, steps, length int)
