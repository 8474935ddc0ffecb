package spectra

import (
	"math"
	"testing"
)

// hannish is a plan of Whisper's size, with 80 bands of five weights.
func hannish(k Kernels) *Plan {
	p := Params{Hop: 160, Start: -200, Window: make([]float64, 400), Floor: 1e-10, Base: 10}
	for i := range p.Window {
		p.Window[i] = (0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/400)) / 32768
	}
	for b := range 80 {
		p.Bands = append(p.Bands, Band{First: b * 195 / 79, Weights: []float64{0.1, 0.2, 0.3, 0.2, 0.1}})
	}
	plan, err := NewPlan(p, k)
	if err != nil {
		panic(err)
	}
	return plan
}

// BenchmarkKernels reports nanoseconds a frame.
func BenchmarkKernels(b *testing.B) {
	for _, k := range Available() {
		p := hannish(k)
		s := p.NewScratch()
		src := make([]int16, 20*160)
		for i := range src {
			src[i] = int16(i * i)
		}
		dst := make([]uint16, 80*Lanes)
		p.Logs(s, Clip{Padded: append(src, make([]int16, 3000)...), Frames: Lanes}, -10)
		bench := func(name string, f func()) {
			b.Run(k.Name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Lanes, "ns/frame")
			})
		}
		bench("columns", func() { k.columns(s.tile, src, 160, p.extra, 0) })
		bench("power", func() { k.power(p.layout, s.work, s.tile, p.table) })
		bench("sums", func() { k.sums(s.sums, s.work, p.taps, p.counts, p.bias) })
		bench("logs", func() { k.logs(s.logs, &s.peak, s.sums, &p.log) })
		bench("halves", func() { p.Halves(dst, s, Scale{-8, 4, 0.25}) })
		// power works in place, so that repeating it alone must not run away.
		clear(s.work)
	}
}
