package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/melforge/melforge/mel"
)

// The limits of general.cu.
const (
	GeneralBlock = 128  // threads of a block of the kernels general, general256 and general512
	FinishBlock  = 512  // threads of a block of the kernel finish
	recipeBands  = 512  // at most
	recipeFFT    = 4096 // points at most: 16 complex values a thread of a block
)

// Fast says whether the kernel mel computes c. The kernels of general.cu do the rest.
func Fast(c mel.Config) bool {
	like := mel.Config{
		Name: c.Name, Rate: c.Rate, NFFT: fft, Hop: 160, NMels: c.NMels, FMin: c.FMin, FMax: c.FMax,
		MelScale: c.MelScale, MelNorm: c.MelNorm, LogFloor: c.LogFloor, DynamicRange: c.DynamicRange,
		Offset: c.Offset, Divisor: c.Divisor, ChunkSeconds: c.ChunkSeconds, Framing: c.Framing, Log: c.Log,
	}
	if c.WinLength == fft {
		like.WinLength = fft
	}
	if c != like || c.Framing != mel.FramingChunk && c.Framing != mel.FramingCentre || c.LogFloor < 0x1p-90 {
		return false
	}
	return c.NMels == 40 || c.NMels == 64 || c.NMels == 80 || c.NMels == 128
}

// Unusual is configurations that no preset has. With the presets they take every
// way through general.cu: all radices, and teams of one warp, of two and of four.
func Unusual() []mel.Config {
	odd := mel.Config{
		Name: "odd", Rate: 8000, NFFT: 360, WinLength: 300, Hop: 77, Framing: mel.FramingCentreZero, NMels: 23, FMax: 3900,
		MelScale: "htk", MelNorm: "none", LogFloor: 1e-9, Divisor: 3, Offset: 1, DynamicRange: 6,
	}
	wide := odd
	wide.Name, wide.NFFT, wide.WinLength, wide.Hop, wide.Framing, wide.NMels = "wide", 2000, 0, 331, mel.FramingCentre, 128
	wider := wide
	wider.Name, wider.NFFT, wider.NMels, wider.DynamicRange, wider.Normalize = "wider", 4096, 300, 0, "per-feature"
	return []mel.Config{odd, wide, wider}
}

// recipe is struct Recipe of recipe.cuh.
type recipe struct {
	FFT, Hop, Start, Window              int32
	Mirror, Longest                      int32
	Mels, Radices                        int32
	Radix                                [12]int32
	Centre, Magnitude, Normalize, Team   int32
	Emphasis, FrameEmphasis, RootAdd     float64
	LogAdd, LogLeast, Scale, Bias, Range float64
	Silence                              float64
	Turns, Roots, Weights, _             int32
	Bins, Columns                        [recipeBands / 32]int32
}

// General is a configuration for the kernels of general.cu.
type General struct {
	Kernel string // that computes it
	Recipe []byte // for their constant
	Tables []byte // for the device's memory
	Shared int    // bytes of shared memory that a block needs
}

// NewGeneral prepares the kernels of general.cu for c.
func NewGeneral(c mel.Config) (g General, err error) {
	radices, err := factor(c)
	if err != nil {
		return g, err
	}
	r := recipe{
		FFT: int32(c.NFFT), Hop: int32(c.Hop), Start: int32(start(c)), Window: int32(winLength(c)),
		Mels: int32(c.NMels), Radices: int32(len(radices)),
		Centre: flag(c.RemoveDC), Magnitude: flag(c.Spectrum == "magnitude"), Normalize: flag(c.Normalize != ""),
		Emphasis: c.Preemphasis, FrameEmphasis: c.FramePreemphasis, RootAdd: c.SpectrumAdd,
		LogAdd: c.LogAdd, LogLeast: c.LogFloor, Bias: c.Offset / c.Divisor, Range: c.DynamicRange / c.Divisor,
	}
	copy(r.Radix[:], radices)
	r.Mirror = flag(c.Framing == mel.FramingChunk || c.Framing == mel.FramingCentre || c.Framing == mel.FramingInner)
	if c.Framing == mel.FramingChunk {
		r.Longest = int32(c.MaxSamples())
	}
	r.Scale = logOfTwo(c) / c.Divisor
	r.Silence = math.Log2(max(c.LogAdd, c.LogFloor))*r.Scale + r.Bias
	n := c.NFFT / 2
	for r.Team = 32; 16*int(r.Team) < n; {
		r.Team *= 2
	}
	if g.Kernel = "general"; n == 256 || n == 512 {
		g.Kernel = fmt.Sprintf("general%d", n)
	}
	g.Shared = GeneralBlock / int(r.Team) * 16 * spot(n)
	if g.Tables, err = r.tables(c); err != nil {
		return g, err
	}
	g.Recipe, err = encode(r)
	return g, err
}

// tables is struct Tables of recipe.cuh.
func (r *recipe) tables(c mel.Config) ([]byte, error) {
	window, turns := window(c), turnsOf(c.NFFT/2, r.Radix[:r.Radices])
	roots := make([]complex128, c.NFFT/4+1)
	for k := range roots {
		roots[k] = root(k, c.NFFT)
	}
	first, weights := r.bands(c)
	r.Turns = int32(len(window) / 2)
	r.Roots = r.Turns + int32(len(turns))
	r.Weights = r.Roots + int32(len(roots))
	return encode(first, window, turns, roots, weights)
}

// encode is the parts as they lie in a device's memory.
func encode(parts ...any) ([]byte, error) {
	var b bytes.Buffer
	for _, part := range parts {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// spot is where a complex value lies in shared memory, as in stockham.cuh.
func spot(i int) int { return i + i/8 }

// bands fills in the bands of c, and returns their first bins and their weights:
// of 32 bands at a time the first of each, the second of each, …, with zeros
// around up to the most that one of them has.
func (r *recipe) bands(c mel.Config) (first [recipeBands]int32, weights []float64) {
	all := c.Bands()
	for g := 0; 32*g < len(all); g++ {
		some, most := all[32*g:min(32*g+32, len(all))], 0
		for _, b := range some {
			most = max(most, len(b.Weights))
		}
		r.Bins[g], r.Columns[g] = int32(most), int32(len(weights))
		table := make([]float64, 32*most)
		for i, b := range some {
			at := min(b.First, c.NFFT/2+1-most) // the zeros before, where there are no bins after
			first[32*g+i] = int32(at)
			for k, w := range b.Weights {
				table[32*(b.First-at+k)+i] = w
			}
		}
		weights = append(weights, table...)
	}
	return first, weights
}

// factor divides the transform into passes.
func factor(c mel.Config) ([]int32, error) {
	refuse := func(why string) error {
		return fmt.Errorf("mel configuration %q: the GPU computes %s; use the CPU engine", c.Name, why)
	}
	switch {
	case c.NFFT > recipeFFT:
		return nil, refuse(fmt.Sprintf("transforms of up to %d points, not %d", recipeFFT, c.NFFT))
	case c.NMels > recipeBands:
		return nil, refuse(fmt.Sprintf("up to %d mels, not %d", recipeBands, c.NMels))
	}
	var radices []int32
	n := c.NFFT / 2
	for _, r := range []int{8, 4, 2, 3, 5} {
		for n%r == 0 {
			radices = append(radices, int32(r))
			n /= r
		}
	}
	if n != 1 {
		return nil, refuse(fmt.Sprintf("transforms whose points have no prime factors but 2, 3 and 5, not %d", c.NFFT))
	}
	return radices, nil
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// logOfTwo is the logarithm of 2 that c takes.
func logOfTwo(c mel.Config) float64 {
	if c.Log == "ln" {
		return math.Ln2
	}
	return math.Log10(2)
}

// root is exp(-2πi·k/n).
func root(k, n int) complex128 {
	s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
	return complex(c, s)
}

// turnsOf is what the passes of a transform of n values turn their results by, in
// the order in which stockham.cuh reads them.
func turnsOf(n int, radices []int32) (turns []complex128) {
	done := 1
	for _, r := range radices {
		groups := n / int(r) / done
		for j := 1; j < int(r); j++ {
			for p := range groups {
				turns = append(turns, root(done*p*j, n))
			}
		}
		done *= int(r)
	}
	return turns
}

func winLength(c mel.Config) int {
	if c.WinLength == 0 {
		return c.NFFT
	}
	return c.WinLength
}

// start is the first sample of frame 0, as in package mel.
func start(c mel.Config) int {
	switch c.Framing {
	case mel.FramingSnip:
		return 0
	case mel.FramingInner:
		return -(c.NFFT - c.Hop) / 2
	}
	return -c.NFFT / 2
}

// window is c's window as package mel has it, times what a sample counts.
func window(c mel.Config) []float64 {
	n := winLength(c)
	out := make([]float64, c.NFFT)
	w := out[(c.NFFT-n)/2:][:n]
	if c.Framing == mel.FramingSnip {
		w = out[:n]
	}
	period, unit := n, 1.0/32768
	if c.Window != "" {
		period = n - 1
	}
	if c.FullScale != 0 {
		unit = c.FullScale / 32768
	}
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(period))
		if c.Window == "povey" {
			w[i] = math.Pow(w[i], 0.85)
		}
		w[i] *= unit
	}
	return out
}
