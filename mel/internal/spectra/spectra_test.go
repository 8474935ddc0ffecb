package spectra

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"
)

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// fence surrounds n values with guards, and returns a check that they stand.
func fence[T comparable](t *testing.T, n int, guard T) (room []T, check func()) {
	t.Helper()
	const width = 64
	all := aligned[T](n + 2*width)[:n+2*width]
	for i := range all {
		all[i] = guard
	}
	return all[width : width+n : width+n], func() {
		t.Helper()
		for i := range width {
			if all[i] != guard || all[width+n+i] != guard {
				t.Fatalf("a guard next to a buffer of %d values was overwritten", n)
			}
		}
	}
}

// eachFast runs test for every kernel that is not plain.
func eachFast(t *testing.T, test func(t *testing.T, k Kernels)) {
	for _, k := range Available()[1:] {
		t.Run(k.Name, func(t *testing.T) { test(t, k) })
	}
	if len(Available()) == 1 {
		t.Skip("this machine has plain kernels only")
	}
}

func TestPowerIsTheTransform(t *testing.T) {
	for _, l := range layouts() {
		for _, k := range Available() {
			t.Run(fmt.Sprint(l.n, k.Name), func(t *testing.T) { transform(t, l, k) })
		}
	}
}

// transform compares a kernel with the sum that defines it.
func transform(t *testing.T, l layout, k Kernels) {
	r := random(1)
	window, work, tile := make([]float64, l.n), make([]float64, l.work()), make([]float64, l.hop*l.stride()+Lanes)
	for i := range window {
		window[i] = r.Float64()
	}
	for i := range tile {
		tile[i] = r.Float64() - 0.5
	}
	centre := work[l.centre():][:Lanes]
	for i := range centre {
		if l.centred {
			centre[i] = r.Float64()
		}
	}
	k.power(l, work, tile, l.table(window))
	for lane := range Lanes {
		for bin := range l.n/2 + 1 {
			var sum complex128
			for i, w := range window {
				x := tile[i%l.hop*l.stride()+i/l.hop+lane]
				sum += complex(w*(x-centre[lane]), 0) * cmplx.Rect(1, -2*math.Pi*float64(bin*i%l.n)/float64(l.n))
			}
			want := real(sum)*real(sum) + imag(sum)*imag(sum)
			if got := work[l.slot(bin)+lane]; math.Abs(got-want) > 1e-12*(1+want) {
				t.Fatalf("frame %d, bin %d: %v, want %v", lane, bin, got, want)
			}
		}
	}
}

func TestColumns(t *testing.T) {
	eachFast(t, func(t *testing.T, k Kernels) {
		for _, l := range layouts() {
			r := random(2)
			src, checkSrc := fence[int16](t, 1+Lanes*l.hop, 12345)
			got, check := fence(t, l.hop*l.stride()+2, 7.0)
			for i := range got {
				got[i] = r.Float64()
			}
			want := slices.Clone(got)
			for i := range src {
				src[i] = int16(r.Uint32())
			}
			src[0], src[1] = math.MinInt16, math.MaxInt16
			for _, emphasis := range []float64{0, 0.97} {
				k.columns(got, src, l.hop, l.extra, emphasis)
				columnsPlain(want, src, l.hop, l.extra, emphasis)
				if !slices.Equal(got, want) {
					t.Errorf("%d points, emphasis %g: not the plain columns", l.n, emphasis)
				}
			}
			check()
			checkSrc()
		}
	})
}

func TestPowerHasThePlainBits(t *testing.T) {
	eachFast(t, func(t *testing.T, k Kernels) {
		for _, l := range layouts() {
			r := random(3)
			got, check := fence(t, l.work(), 7.0)
			tile, checkTile := fence(t, l.hop*l.stride(), 7.0)
			window := make([]float64, l.n)
			for i := range window {
				window[i] = r.NormFloat64()
			}
			for i := range tile {
				tile[i] = math.Ldexp(r.NormFloat64(), r.IntN(20))
			}
			clear(got)
			for i := range Lanes {
				got[l.centre()+i] = r.NormFloat64()
			}
			want := slices.Clone(got)
			k.power(l, got, tile, l.table(window))
			powerPlain(l, want, tile, l.table(window))
			k.roots(got[:l.centre()], 1e-9)
			rootsPlain(want[:l.centre()], 1e-9)
			for bin := range l.n/2 + 1 {
				at := l.slot(bin)
				if !slices.Equal(got[at:at+Lanes], want[at:at+Lanes]) {
					t.Fatalf("%d points, bin %d: %v, plain %v", l.n, bin, got[at:at+Lanes], want[at:at+Lanes])
				}
			}
			check()
			checkTile()
		}
	})
}

func TestBandsHaveThePlainBits(t *testing.T) {
	eachFast(t, func(t *testing.T, k Kernels) {
		r := random(4)
		work, checkWork := fence(t, 100*Lanes, 7.0)
		for i := range work {
			work[i] = math.Ldexp(r.Float64(), -r.IntN(50))
		}
		counts := []int{0, 1, 2, 3, 30, 0, 5}
		var taps []tap
		for _, n := range counts {
			for range n {
				taps = append(taps, tap{8 * Lanes * r.IntN(100), r.Float64()})
			}
		}
		for _, p := range []Params{{Floor: 1e-10, Base: 10}, {Bias: 0x1p-24, Base: math.E}, {Floor: 1.2e-7, Base: 2}} {
			gotSums, checkSums := fence(t, len(counts)*Lanes, 7.0)
			wantSums := make([]float64, len(gotSums))
			k.sums(gotSums, work, taps, counts, p.Bias)
			sumsPlain(wantSums, work, taps, counts, p.Bias)
			log := newLogarithm(p)
			got, check := fence[float32](t, len(counts)*Lanes, 7)
			want := make([]float32, len(got))
			var gotPeak, wantPeak [Lanes]float32
			gotPeak[3], wantPeak[3] = 5, 5
			k.logs(got, &gotPeak, gotSums, &log)
			logsPlain(want, &wantPeak, wantSums, &log)
			if !slices.Equal(gotSums, wantSums) || !slices.Equal(got, want) || gotPeak != wantPeak {
				t.Errorf("%+v: not the plain bits", p)
			}
			check()
			checkSums()
		}
		checkWork()
	})
}

func TestHalvesHaveThePlainBits(t *testing.T) {
	eachFast(t, func(t *testing.T, k Kernels) {
		r := random(5)
		for _, bands := range []int{8, 80, 128, 3, 41} {
			src := make([]float32, bands*Lanes)
			for i := range src {
				src[i] = float32(r.NormFloat64()) * 8
			}
			scale := Scale{-8, 4, 0.25}
			got, check := fence[uint16](t, bands*Lanes, 12345)
			want := make([]uint16, len(got))
			k.halves(got, src, bands, &scale)
			halvesPlain(want, src, bands, &scale)
			if !slices.Equal(got, want) {
				t.Errorf("%d bands: not the plain bits", bands)
			}
			check()
		}
	})
}

func TestLogarithm(t *testing.T) {
	l := newLogarithm(Params{Floor: 1e-10, Base: 10})
	r := random(6)
	worst := 0.0
	for range 100000 {
		x := math.Ldexp(0.5+r.Float64()/2, r.IntN(60)-32)
		worst = max(worst, math.Abs(float64(l.of(x))-math.Log10(x))-math.Abs(math.Log10(x))*0x1p-24)
	}
	// What remains beyond rounding to float32 is the polynomial's.
	if worst > 2.2e-9 {
		t.Errorf("off by %g", worst)
	}
	for _, x := range []float64{0, 1e-300, 1e-10} {
		if got := l.of(x); math.Abs(float64(got)+10) > 1e-6 {
			t.Errorf("log10 of %g: %v", x, got)
		}
	}
}

// FuzzKernels holds every kernel to the plain bits on whatever samples.
func FuzzKernels(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte{0, 128, 255, 127}, uint8(9))
	f.Add([]byte("the quick brown fox"), uint8(3))
	var plans []*Plan
	for _, k := range Available() {
		plans = append(plans, hannish(k))
	}
	before, after := plans[0].Margin()
	f.Fuzz(func(t *testing.T, raw []byte, count uint8) {
		frames := int(count) % 20
		padded, check := fence[int16](t, before+frames*160+after, 12345)
		for i := range padded {
			if len(raw) > 1 {
				padded[i] = int16(raw[2*i%len(raw)]) | int16(raw[(2*i+1)%len(raw)])<<8
			}
		}
		var wantLogs []float32
		var wantHalves []uint16
		for i, p := range plans {
			s := p.NewScratch()
			peak := p.Logs(s, Clip{Padded: padded, Frames: frames}, -10)
			halves, checkHalves := fence[uint16](t, Blocks(frames)*Lanes*p.Bands(), 12345)
			p.Halves(halves, s, Scale{peak - 8, 4, 0.25})
			if i == 0 {
				wantLogs, wantHalves = s.logs, halves
			}
			if !slices.Equal(s.logs, wantLogs) || !slices.Equal(halves, wantHalves) {
				t.Errorf("%s kernels give other bits than plain Go", p.kernels.Name)
			}
			checkHalves()
		}
		check()
	})
}
