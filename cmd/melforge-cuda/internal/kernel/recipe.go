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
	GeneralTile  = 4    // warps of a block of the kernel general, at most
	FinishBlock  = 512  // threads of a block of the kernel finish
	recipeBands  = 512  // at most
	recipeFFT    = 4096 // points at most
	generalBytes = 96 << 10
)

// Fast says whether the kernel mel computes c. The kernel general does the rest.
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

// recipe is struct Recipe of general.cu.
type recipe struct {
	FFT, Hop, Start, Window              int32
	Mirror, Longest                      int32
	Mels, Radices                        int32
	Radix                                [12]int32
	Centre, Magnitude, Normalize, _      int32
	Emphasis, FrameEmphasis, RootAdd     float64
	LogAdd, LogLeast, Scale, Bias, Range float64
	Silence, _                           float64
	First, Size, At                      [recipeBands]int32
}

// General is a configuration for the kernel general.
type General struct {
	Recipe []byte // what it needs to know, in its layout
	Warps  int    // of a block
	Shared int    // bytes of shared memory that a block needs
}

// NewGeneral prepares the kernel general for c.
func NewGeneral(c mel.Config) (General, error) {
	radices, err := factor(c)
	if err != nil {
		return General{}, err
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
	var weights []float64
	for i, b := range c.Bands() {
		r.First[i], r.Size[i], r.At[i] = int32(b.First), int32(len(b.Weights)), int32(len(weights))
		weights = append(weights, b.Weights...)
	}
	var b bytes.Buffer
	for _, part := range []any{r, window(c), turns(c.NFFT), weights} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return General{}, err
		}
	}
	each := 16 * c.NFFT // two places of n complex values
	warps := min(GeneralTile, max(1, generalBytes/each))
	return General{Recipe: b.Bytes(), Warps: warps, Shared: warps * each}, nil
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
	for _, r := range []int{4, 2, 3, 5} {
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

// turns are the roots of one: exp(-2πi·k/n).
func turns(n int) []float64 {
	var all []float64
	for k := range n {
		s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		all = append(all, c, s)
	}
	return all
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
