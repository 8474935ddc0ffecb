package gates

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func noise(n int, seed uint64) []int16 {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]int16, n)
	for i := range out {
		out[i] = int16(r.IntN(65536) - 32768)
	}
	return out
}

// TestRuns wants every hop covered, by a lane that has forgotten its beginning.
func TestRuns(t *testing.T) {
	for hops := 1; hops < 400; hops++ {
		starts, length := runs(hops)
		next := 0 // the first hop that no lane has yet
		for lane, from := range starts {
			if lane > 0 && min(from, forget)+from > next {
				t.Fatalf("%d hops: lane %d begins at %d for %d", hops, lane, from, next)
			}
			next = max(next, from+length)
		}
		if starts[0] != 0 || next != hops {
			t.Fatalf("%d hops: lanes at %v of %d hops", hops, starts, length)
		}
	}
}

// TestLanesEqualOneRun holds that cutting a sound into lanes changes nothing
// that a float64 shows, not even after a constant, which fades slowest.
func TestLanesEqualOneRun(t *testing.T) {
	w := newWeighting(16000)
	const hop = 1600
	for hops := 1; hops < 60; hops += 3 {
		for name, samples := range map[string][]int16{
			"noise":    noise(hops*hop+99, 1),
			"constant": slices.Repeat([]int16{32767}, hops*hop),
			"step":     append(slices.Repeat([]int16{-32768}, hops*hop/2), noise(hops*hop-hops*hop/2, 2)...),
		} {
			got := w.energies(samples, hop)
			var s state
			for i, e := range got {
				want := w.scaled().energyFrom(&s, samples[i*hop:][:hop])
				if math.Abs(e-want) > 1e-12*want+1e-28 {
					t.Fatalf("%s of %d hops: hop %d has %g, want %g", name, hops, i, e, want)
				}
			}
		}
	}
}

// kernels are those that this machine can run, by name.
func kernels(t *testing.T) map[string]kernel {
	all := fastKernels()
	if len(all) == 0 {
		t.Skip("this machine has no kernels but the plain one")
	}
	return all
}

// TestKernelsHaveThePlainBits surrounds the samples and the results with others
// that must not be used or changed.
func TestKernelsHaveThePlainBits(t *testing.T) {
	for name, k := range kernels(t) {
		for _, rate := range []int{8000, 16000, 48000} {
			hop := rate / 10
			for hops := 1; hops < 30; hops += 4 {
				checkKernel(t, name, k, rate, hop, noise(hops*hop, uint64(hops)))
			}
		}
	}
}

func checkKernel(t *testing.T, name string, k kernel, rate, hop int, samples []int16) {
	t.Helper()
	starts, length := runs(len(samples) / hop)
	for i := range starts {
		starts[i] *= hop
	}
	w := newWeighting(rate).scaled()
	fenced := append(append(slices.Repeat([]int16{32767}, 64), samples...), slices.Repeat([]int16{-32768}, 64)...)
	want := make([]float64, lanes*length)
	filterPlain(want, &w, samples, &starts, hop, length)
	const guard = 12345
	got := slices.Repeat([]float64{guard}, lanes*length+32)
	k(got[16:][:lanes*length], &w, fenced[64:][:len(samples)], &starts, hop, length)
	if !slices.Equal(got[16:][:lanes*length], want) {
		t.Fatalf("%s: %d samples differ", name, len(samples))
	}
	for i, v := range got {
		if (i < 16 || i >= 16+lanes*length) && v != guard {
			t.Fatalf("%s: %d samples: result %d was written", name, len(samples), i-16)
		}
	}
}

func FuzzKernels(f *testing.F) {
	f.Add(uint64(1), 5, int16(0))
	f.Add(uint64(2), 33, int16(-32768))
	f.Fuzz(func(t *testing.T, seed uint64, hops int, constant int16) {
		if hops < 1 || hops > 64 {
			return
		}
		const rate, hop = 4000, 400
		samples := noise(hops*hop, seed)
		for i := range samples[:len(samples)/2] {
			samples[i] = constant
		}
		for name, k := range fastKernels() {
			checkKernel(t, name, k, rate, hop, samples)
		}
	})
}

func BenchmarkLoudness(b *testing.B) {
	w := newWeighting(16000)
	samples := noise(80000, 1)
	all := fastKernels()
	all["plain"] = filterPlain
	for name, k := range all {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(2 * len(samples)))
			for b.Loop() {
				w.energiesBy(k, samples, 1600)
			}
		})
	}
}
