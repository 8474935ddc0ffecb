// Package kernel holds the CUDA kernels: their source, the images compiled from
// it, and the tables that they read. scripts/cuda-kernels makes the images.
package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/melforge/melforge/mel"
)

// The sizes of mel.cuh.
const (
	Threads    = 320 // of a block of the kernel mel
	Tile       = 32  // frames that a block computes at a time
	FloorBlock = 128 // threads of a block of the kernel floors
	fft        = 400
	bins       = fft/2 + 1
	maxMels    = 128
	weights    = 1024
	warps      = 10
	words      = 2680 + 2680/80 + 1 // samples of a tile, two a word, a word of padding a hop
)

// SharedDouble and SharedSingle are the shared memory of a block of the kernels
// mel and mel_single.
const (
	SharedDouble = (words+3)/4*4*4 + 20*20*32*8
	SharedSingle = (words+3)/4*4*4 + 20*20*32*4 + 4*(20*20+20*10*2+weights)
)

// tables is struct Tables of mel.cuh.
type tables struct {
	Window      [20][20]float64
	Twiddle     [20][10][2]float64
	Window1     [20][20]float32
	Twiddle1    [20][10][2]float32
	Weight      [weights]float32
	Band        [maxMels]int32
	Share       [warps + 2]int32
	Scale, Bias float32
	Least       float32
	Range       float32
	Mels        int32
	Longest     int32
}

// Tables is what the kernels need to know of c, in their layout.
func Tables(c mel.Config) ([]byte, error) {
	t := tables{
		Scale: float32(math.Log10(2) / c.Divisor), Bias: float32(c.Offset / c.Divisor),
		Least: float32(c.LogFloor), Range: float32(c.DynamicRange / c.Divisor),
		Mels: int32(c.NMels), Longest: int32(c.MaxSamples()),
	}
	if c.DynamicRange == 0 { // there is no floor
		t.Range = math.MaxFloat32
	}
	for n := range 20 {
		for r := range 20 {
			hann := 0.5 - 0.5*math.Cos(2*math.Pi*float64(20*r+n)/fft)
			t.Window[n][r] = hann / 32768
			t.Window1[n][r] = float32(hann / 32768)
		}
		for k := range 10 {
			s, c := math.Sincos(-2 * math.Pi * float64(n*(k+1)) / fft)
			t.Twiddle[n][k] = [2]float64{c, s}
			t.Twiddle1[n][k] = [2]float32{float32(c), float32(s)}
		}
	}
	if err := t.bands(c); err != nil {
		return nil, err
	}
	t.share(c.NMels)
	var b bytes.Buffer
	err := binary.Write(&b, binary.LittleEndian, t)
	return b.Bytes(), err
}

// bands fills in the triangular mel filters of c, as package mel has them: the
// weights of each from its first bin, with zeros around up to whole groups of
// four bins.
func (t *tables) bands(c mel.Config) error {
	corner := make([]float64, c.NMels+2) // in Hz
	low, high := toMel(c.FMin), toMel(c.FMax)
	for i := range corner {
		corner[i] = toHz(low + (high-low)*float64(i)/float64(c.NMels+1))
	}
	at := 0
	for b := range c.NMels {
		first, w := triangle(c, corner[b], corner[b+1], corner[b+2])
		groups := (len(w) + 3) / 4
		start := min(first, bins-4*groups) // the zeros before, where there are no bins after
		if at+4*groups > weights {
			return fmt.Errorf("mel configuration %q: its filters overlap too much for the GPU; use the CPU engine", c.Name)
		}
		for i, v := range w {
			t.Weight[at+first-start+i] = float32(v)
		}
		t.Band[b] = int32(start | groups<<8 | at/4<<16)
		at += 4 * groups
	}
	return nil
}

// triangle is the filter from left to right with its peak in between: its first
// bin and its weights.
func triangle(c mel.Config, left, peak, right float64) (first int, w []float64) {
	for bin := range bins {
		hz := float64(bin) * float64(c.Rate) / fft
		v := min((hz-left)/(peak-left), (right-hz)/(right-peak))
		if v <= 0 {
			continue
		}
		if w == nil {
			first = bin
		}
		w = append(w, v*2/(right-left))
	}
	return first, w
}

// share divides the bands, in pairs, among the warps so that all have about as
// much to do: a logarithm with its store costs about as much as a group.
func (t *tables) share(mels int) {
	cost := func(pair int) int { return 2 + int(t.Band[2*pair]>>8&255+t.Band[2*pair+1]>>8&255) }
	total := 0
	for p := range mels / 2 {
		total += cost(p)
	}
	pair, done := 0, 0
	for w := range warps {
		t.Share[w] = int32(2 * pair)
		for pair < mels/2 && (2*done+cost(pair))*warps < 2*total*(w+1) {
			done += cost(pair)
			pair++
		}
	}
	t.Share[warps] = int32(mels)
}

// Slaney's mel scale, as in package mel: linear to 1 kHz, logarithmic above.
func toMel(hz float64) float64 {
	if hz < 1000 {
		return hz * 3 / 200
	}
	return 15 + 27*math.Log(hz/1000)/math.Log(6.4)
}

func toHz(m float64) float64 {
	if m < 15 {
		return m * 200 / 3
	}
	return 1000 * math.Pow(6.4, (m-15)/27)
}
