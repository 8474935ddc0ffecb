// Package peak measures how fast this core can calculate at best, so that the
// benchmarks can say how far from that a kernel is.
package peak

import (
	"time"

	"golang.org/x/sys/cpu"
)

// Vectors is the number of float64 vector operations, independent fused
// multiplications, that this core does in a nanosecond, and their lanes. It is
// zero where the core has no such vectors.
func Vectors() (perNanosecond float64, lanes int) {
	const rounds, chains = 1 << 20, 12
	kernel := fused256
	switch {
	case cpu.X86.HasAVX512F:
		kernel, lanes = fused512, 8
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		lanes = 4
	default:
		return 0, 0
	}
	for range 20 { // the best of several: others may use the machine
		start := time.Now()
		kernel(rounds)
		perNanosecond = max(perNanosecond, rounds*chains/float64(time.Since(start).Nanoseconds()))
	}
	return perNanosecond, lanes
}

//go:noescape
func fused512(rounds int)

//go:noescape
func fused256(rounds int)
