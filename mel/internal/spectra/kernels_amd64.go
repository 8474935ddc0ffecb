package spectra

import "golang.org/x/sys/cpu"

// Available are the kernels that this machine can run, the fastest last.
func Available() []Kernels {
	all := []Kernels{Plain()}
	// Every processor with AVX2 and FMA converts to FP16 as well.
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, Kernels{Name: "avx2", columns: columns(columnsAVX2), power: powerAVX2, roots: roots(rootsAVX2), sums: sums(sumsAVX2), logs: logs(logsAVX2), halves: halves})
	}
	if len(all) == 2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		all = append(all, Kernels{Name: "avx512", columns: columns(columnsAVX512), power: powerAVX512, roots: roots(rootsAVX512), sums: sums(sumsAVX512), logs: logs(logsAVX512), halves: halves})
	}
	return all
}

// The functions below check what the assembly relies on.

func columns(kernel func(tile *float64, src *int16, hop, extra int, emphasis float64)) func([]float64, []int16, int, int, float64) {
	return func(tile []float64, src []int16, hop, extra int, emphasis float64) {
		// The last row's columns are moved by four, whatever extra is.
		_, _ = tile[hop*(Lanes+extra)+3-extra], src[Lanes*hop]
		kernel(&tile[0], &src[1], hop, extra, emphasis)
	}
}

func sums(kernel func(dst, power *float64, taps *tap, counts *int, bands int, bias float64)) func(_, _ []float64, _ []tap, _ []int, _ float64) {
	return func(dst, work []float64, taps []tap, counts []int, bias float64) {
		_ = dst[len(counts)*Lanes-1]
		kernel(&dst[0], &work[0], &taps[0], &counts[0], len(counts), bias)
	}
}

func logs(kernel func(dst, peak *float32, src *float64, bands int, log *logarithm)) func([]float32, *[Lanes]float32, []float64, *logarithm) {
	return func(dst []float32, peak *[Lanes]float32, src []float64, log *logarithm) {
		_ = src[len(dst)-1]
		kernel(&dst[0], &peak[0], &src[0], len(dst)/Lanes, log)
	}
}

func roots(kernel func(work *float64, vectors int, bias float64)) func([]float64, float64) {
	return func(work []float64, bias float64) { kernel(&work[0], len(work)/(2*Lanes), bias) }
}

func checkPower(l layout, work, tile, table []float64) {
	_ = work[l.work()-1]
	_ = tile[l.hop*l.stride()-1]
	_ = table[len(l.constants)+l.n+l.a*(l.b-1)-1]
}

func powerAVX512(l layout, work, tile, table []float64) {
	checkPower(l, work, tile, table)
	switch l.n {
	case 400:
		power400AVX512(&work[0], &tile[0], &table[0])
	case 512:
		power512AVX512(&work[0], &tile[0], &table[0])
	case 1024:
		power1024AVX512(&work[0], &tile[0], &table[0])
	}
}

func powerAVX2(l layout, work, tile, table []float64) {
	checkPower(l, work, tile, table)
	for half := 0; half < Lanes; half += Lanes / 2 {
		switch l.n {
		case 400:
			power400AVX2(&work[half], &tile[half], &table[0])
		case 512:
			power512AVX2(&work[half], &tile[half], &table[0])
		case 1024:
			power1024AVX2(&work[half], &tile[half], &table[0])
		}
	}
}

// halves leaves to plain Go what is not whole vectors.
func halves(dst []uint16, src []float32, bands int, scale *Scale) {
	if bands%Lanes != 0 {
		halvesPlain(dst, src, bands, scale)
		return
	}
	_, _ = dst[bands*Lanes-1], src[bands*Lanes-1]
	halvesAVX2(&dst[0], &src[0], bands, scale)
}

//go:noescape
func columnsAVX512(tile *float64, src *int16, hop, extra int, emphasis float64)

//go:noescape
func columnsAVX2(tile *float64, src *int16, hop, extra int, emphasis float64)

//go:noescape
func power512AVX512(work, tile, table *float64)

//go:noescape
func power1024AVX512(work, tile, table *float64)

//go:noescape
func power400AVX512(work, tile, table *float64)

//go:noescape
func power512AVX2(work, tile, table *float64)

//go:noescape
func power1024AVX2(work, tile, table *float64)

//go:noescape
func power400AVX2(work, tile, table *float64)

//go:noescape
func sumsAVX512(dst, power *float64, taps *tap, counts *int, bands int, bias float64)

//go:noescape
func logsAVX512(dst, peak *float32, src *float64, bands int, log *logarithm)

//go:noescape
func sumsAVX2(dst, power *float64, taps *tap, counts *int, bands int, bias float64)

//go:noescape
func logsAVX2(dst, peak *float32, src *float64, bands int, log *logarithm)

//go:noescape
func rootsAVX512(work *float64, vectors int, bias float64)

//go:noescape
func rootsAVX2(work *float64, vectors int, bias float64)

//go:noescape
func halvesAVX2(dst *uint16, src *float32, bands int, scale *Scale)
