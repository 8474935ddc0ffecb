package kernel

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/melforge/melforge/mel"
)

// TestGeneral goes through the steps of general.cu, passes and all, with its
// tables, and wants what the reference gives.
func TestGeneral(t *testing.T) {
	configs := Unusual()
	for _, name := range mel.Presets() {
		c, err := mel.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		configs = append(configs, c)
	}
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]int16, 9000)
	for i := range samples {
		samples[i] = int16(9000*math.Sin(float64(i)*0.3) + r.NormFloat64()*1000)
	}
	for _, c := range configs {
		g, err := NewGeneral(c)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := mel.Reference(c, samples)
		if err != nil {
			t.Fatal(err)
		}
		got := newTwin(t, g).clip(samples, c.Frames(len(samples)))
		for i, w := range want {
			if d := math.Abs(got[i] - w); !(d < 1e-9) {
				t.Fatalf("%s: frame %d, band %d is off by %g", c.Name, i/c.NMels, i%c.NMels, d)
			}
		}
	}
}

// TestFixed wants the passes that general256 and general512 are compiled for.
func TestFixed(t *testing.T) {
	for name, want := range map[string]struct {
		kernel string
		radix  [3]int32
	}{
		"nemo-80": {"general256", [3]int32{8, 8, 4}}, "kaldi-fbank-80": {"general256", [3]int32{8, 8, 4}}, "hifigan-80": {"general512", [3]int32{8, 8, 8}},
	} {
		c, err := mel.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewGeneral(c)
		if err != nil {
			t.Fatal(err)
		}
		if w := newTwin(t, g); g.Kernel != want.kernel || w.Radices != 3 || [3]int32(w.Radix[:3]) != want.radix || w.Team != 32 {
			t.Errorf("%s: %s, %d passes %v, %d threads", name, g.Kernel, w.Radices, w.Radix, w.Team)
		}
	}
}

func TestGeneralRefuses(t *testing.T) {
	for _, change := range []func(*mel.Config){
		func(c *mel.Config) { c.NFFT = 434 }, func(c *mel.Config) { c.NFFT = 8192 }, func(c *mel.Config) { c.NMels = 513 },
	} {
		c, err := mel.Preset("kaldi-fbank-80")
		if err != nil {
			t.Fatal(err)
		}
		change(&c)
		if _, err := NewGeneral(c); err == nil {
			t.Errorf("%d points and %d mels were taken", c.NFFT, c.NMels)
		}
	}
}

// TestFast says which presets the kernel mel computes.
func TestFast(t *testing.T) {
	for _, name := range mel.Presets() {
		c, err := mel.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := c.NFFT == 400; Fast(c) != want {
			t.Errorf("%s: %v", name, !want)
		}
		c.FullScale = 2
		if Fast(c) {
			t.Errorf("%s of another scale is taken", name)
		}
	}
}

// twin is general.cu in Go.
type twin struct {
	recipe
	first           [recipeBands]int32
	window, weights []float64
	turns, roots    []complex128
}

func newTwin(t *testing.T, g General) *twin {
	var w twin
	read := func(b *bytes.Reader, v any) {
		if err := binary.Read(b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	read(bytes.NewReader(g.Recipe), &w.recipe)
	if size := binary.Size(w.recipe); size != 312 {
		t.Fatalf("the recipe has %d bytes", size)
	}
	tables := bytes.NewReader(g.Tables)
	w.window, w.turns, w.roots = make([]float64, w.FFT), make([]complex128, w.Roots-w.Turns), make([]complex128, w.Weights-w.Roots)
	read(tables, &w.first)
	read(tables, w.window)
	read(tables, w.turns)
	read(tables, w.roots)
	w.weights = make([]float64, tables.Len()/8)
	read(tables, w.weights)
	return &w
}

func (w *twin) source(i, n int) int {
	if w.Mirror != 0 {
		end := n
		if w.Longest > 0 {
			end = int(w.Longest)
		}
		for end > 1 && (i < 0 || i >= end) {
			if i < 0 {
				i = -i
			} else {
				i = 2*(end-1) - i
			}
		}
	}
	if i < 0 || i >= n {
		return -1
	}
	return i
}

func (w *twin) fill(x []int16, begin int) []complex128 {
	mean := 0.0
	if w.Centre != 0 {
		for _, v := range x[begin:][:w.Window] {
			mean += float64(v) / float64(w.Window)
		}
	}
	out := make([]float64, w.FFT)
	for i := range out {
		at := w.source(begin+i, len(x))
		if w.window[i] == 0 || at < 0 {
			continue
		}
		v := float64(x[at])
		if at > 0 {
			v -= w.Emphasis * float64(x[at-1])
		}
		if w.Centre != 0 || w.FrameEmphasis != 0 {
			v -= mean + w.FrameEmphasis*(float64(x[at-min(i, 1)])-mean)
		}
		out[i] = v * w.window[i]
	}
	z := make([]complex128, w.FFT/2)
	for i := range z {
		z[i] = complex(out[2*i], out[2*i+1])
	}
	return z
}

// passes transforms z in Stockham's way.
func (w *twin) passes(z []complex128) []complex128 {
	n, done, turns := len(z), 1, w.turns
	for _, radix := range w.Radix[:w.Radices] {
		r := int(radix)
		groups := n / r / done
		to := make([]complex128, n)
		for i := range n / r {
			p, q := i/done, i%done
			for j := range r {
				var sum complex128
				for k := range r {
					sum += z[i+n/r*k] * root(j*k%r, r)
				}
				if j > 0 {
					sum *= turns[(j-1)*groups+p]
				}
				to[q+done*(r*p+j)] = sum
			}
		}
		z, done, turns = to, done*r, turns[(r-1)*groups:]
	}
	return z
}

func (w *twin) power(z []complex128) []float64 {
	n := len(z)
	out := make([]float64, n+1)
	for k := range n/2 + 1 {
		a, b := z[k], cmplx.Conj(z[(n-k)%n])
		even, odd := (a+b)/2, (a-b)/2*complex(0, -1)*w.roots[k]
		for i, x := range map[int]complex128{k: even + odd, n - k: even - odd} {
			out[i] = real(x)*real(x) + imag(x)*imag(x)
			if w.Magnitude != 0 {
				out[i] = math.Sqrt(out[i] + w.RootAdd)
			}
		}
	}
	return out
}

// clip is a whole clip, with its floor or normalisation.
func (w *twin) clip(x []int16, frames int) []float64 {
	mels := int(w.Mels)
	out := make([]float64, 0, frames*mels)
	for f := range frames {
		power := w.power(w.passes(w.fill(x, int(w.Start)+f*int(w.Hop))))
		for b := range mels {
			sum := 0.0
			for k := range w.Bins[b/32] {
				sum += w.weights[int(w.Columns[b/32]+32*k)+b%32] * power[w.first[b]+k]
			}
			out = append(out, math.Log2(max(sum+w.LogAdd, w.LogLeast))*w.Scale+w.Bias)
		}
	}
	if w.Normalize != 0 {
		w.normalize(out, mels)
	} else if w.Range > 0 {
		most := w.Silence
		for _, v := range out {
			most = max(most, v)
		}
		for i, v := range out {
			out[i] = max(v, most-w.Range)
		}
	}
	return out
}

// normalize puts together what the tiles of a clip know of each band.
func (w *twin) normalize(out []float64, mels int) {
	type known struct{ n, mean, squares float64 }
	frames := len(out) / mels
	for b := range mels {
		var tiles []known
		for at := 0; at < frames; at += Tile {
			k := known{n: float64(min(Tile, frames-at))}
			for f := at; f < min(at+Tile, frames); f++ {
				k.mean += out[f*mels+b] / k.n
			}
			for f := at; f < min(at+Tile, frames); f++ {
				k.squares += (out[f*mels+b] - k.mean) * (out[f*mels+b] - k.mean)
			}
			tiles = append(tiles, k)
		}
		mean, squares, n := 0.0, 0.0, float64(frames)
		for _, k := range tiles {
			mean += k.n * k.mean / n
		}
		for _, k := range tiles {
			squares += k.squares + k.n*(k.mean-mean)*(k.mean-mean)
		}
		for i := b; i < len(out); i += mels {
			out[i] = (out[i] - mean) / (1e-5 + math.Sqrt(squares/(n-1)))
		}
	}
}
