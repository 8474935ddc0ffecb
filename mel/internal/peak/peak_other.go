//go:build !amd64

// Package peak measures how fast this core can calculate at best, so that the
// benchmarks can say how far from that a kernel is.
package peak

// Vectors is zero here: there is nothing to measure with.
func Vectors() (perNanosecond float64, lanes int) { return 0, 0 }
