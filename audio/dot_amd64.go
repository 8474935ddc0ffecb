package audio

import "golang.org/x/sys/cpu"

// bestDots is the fastest dots that this machine can run.
func bestDots() func(dst *[4]float64, a, b []float64, stride int) {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ:
		return checked(dotsAVX512)
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return checked(dotsAVX2)
	}
	return dotsPlain
}

// checked holds the slices to what the assembly relies on.
func checked(kernel func(dst, a, b *float64, stride, sixteens int)) func(dst *[4]float64, a, b []float64, stride int) {
	return func(dst *[4]float64, a, b []float64, stride int) {
		_, _ = a[dotUnit-1], b[3*stride+len(a)-1]
		kernel(&dst[0], &a[0], &b[0], stride, len(a)/dotUnit)
	}
}

//go:noescape
func dotsAVX2(dst, a, b *float64, stride, sixteens int)

//go:noescape
func dotsAVX512(dst, a, b *float64, stride, sixteens int)
