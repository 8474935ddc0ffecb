package spectra

import (
	"math"

	"github.com/x448/float16"
)

// Kernels are one way to do the work.
type Kernels struct {
	Name string // "plain", "avx2" or "avx512"

	// columns moves the columns of tile after the block's to the front, and
	// appends the columns of the next eight rows of src, hop samples each: of
	// every sample less emphasis times the one before. The first of src is the
	// one before the rows.
	columns func(tile []float64, src []int16, hop, extra int, emphasis float64)
	// power leaves the power spectra of the tile's frames in work.
	power func(l layout, work, tile, table []float64)
	// roots puts in the place of every power the root of itself and bias.
	roots func(work []float64, bias float64)
	// sums adds up the bands of a block: bias + Σ weight·power.
	sums func(dst, work []float64, taps []tap, counts []int, bias float64)
	// logs takes the logarithms of as many bands as dst holds, and raises peak
	// to them.
	logs func(dst []float32, peak *[Lanes]float32, src []float64, log *logarithm)
	// halves scales a block's [band][lane] into dst's [lane][band].
	halves func(dst []uint16, src []float32, bands int, scale *Scale)
}

// Plain are the kernels in Go, for any machine.
func Plain() Kernels {
	return Kernels{Name: "plain", columns: columnsPlain, power: powerPlain, roots: rootsPlain, sums: sumsPlain, logs: logsPlain, halves: halvesPlain}
}

// Best are the fastest kernels that this machine can run.
func Best() Kernels {
	all := Available()
	return all[len(all)-1]
}

func columnsPlain(tile []float64, src []int16, hop, extra int, emphasis float64) {
	stride := Lanes + extra
	for j := range hop {
		row := tile[j*stride : (j+1)*stride]
		copy(row, row[Lanes:])
		for lane := range Lanes {
			at := lane*hop + j
			row[extra+lane] = math.FMA(-emphasis, float64(src[at]), float64(src[at+1]))
		}
	}
}

func powerPlain(l layout, work, tile, table []float64) {
	for lane := range Lanes {
		switch l.n {
		case 400:
			power400Plain(work[lane:], tile[lane:], table)
		case 512:
			power512Plain(work[lane:], tile[lane:], table)
		case 1024:
			power1024Plain(work[lane:], tile[lane:], table)
		}
	}
}

func rootsPlain(work []float64, bias float64) {
	for at := 0; at < len(work); at += 2 * Lanes {
		for i, v := range work[at : at+Lanes] {
			work[at+i] = math.Sqrt(v + bias)
		}
	}
}

func sumsPlain(dst, work []float64, taps []tap, counts []int, bias float64) {
	for b, count := range counts {
		for lane := range Lanes {
			sum := bias
			for _, t := range taps[:count] {
				sum = math.FMA(work[t.at/8+lane], t.weight, sum)
			}
			dst[b*Lanes+lane] = sum
		}
		taps = taps[count:]
	}
}

func logsPlain(dst []float32, peak *[Lanes]float32, src []float64, log *logarithm) {
	for i := range dst {
		dst[i] = log.of(src[i])
		peak[i%Lanes] = max(peak[i%Lanes], dst[i])
	}
}

func halvesPlain(dst []uint16, src []float32, bands int, scale *Scale) {
	for b := range bands {
		for lane, v := range src[b*Lanes : (b+1)*Lanes] {
			dst[lane*bands+b] = float16.Fromfloat32(scale.Apply(v)).Bits()
		}
	}
}
