// Package kernel holds the CUDA kernels: their source, the images compiled from
// it, and the tables that they read. scripts/cuda-kernels makes the images.
package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/melforge/melforge/mel"
)

// The sizes of mel.cuh.
const (
	Threads    = 320 // of a group of the kernel mel
	MaxGroups  = 2   // of a block of it
	Tile       = 32  // frames that a group computes at a time
	TileBytes  = 32  // of a tile's record on the device
	FloorBlock = 128 // threads of a block of the kernel floors
	FloorTiles = 4   // tiles of a block of it
	fft        = 400
	bins       = fft/2 + 1
	maxMels    = 128
	groups     = 64
	warps      = 10
	words      = 2680 + 2680/80 + 1 // samples of a tile, two a word, a word of padding a hop
)

// Shared is the shared memory that a block of that many groups of the kernel mel
// needs, in double or in single precision.
func Shared(groups int, single bool) int {
	value, exchange := 8, 20*10*32*12
	if single {
		value, exchange = 4, 20*10*32*8
	}
	common := bandsBytes + value*(20*10*2+4)
	group := exchange + (words+3)/4*4*4 + 4*32*(maxMels/2+1) + 4*TileBytes + 3*8 + 4*warps + 3*4
	return common + groups*((group+15)/16*16)
}

const bandsBytes = 64*groups + 2*4*maxMels/4 + 4*(warps+2) + 8*4

// tables is struct Tables of mel.cuh.
type tables struct {
	Weight      [groups][2][2][4]float32
	Quad        [maxMels / 4]uint32
	Number      [maxMels / 4]int32
	Share       [warps + 2]int32
	Scale, Bias float32
	Least       float32
	Range       float32
	Mels        int32
	Longest     int32
	Reciprocal  int32
	_           int32
	Twiddle     [20][10][2]float64
	Factor      [4]float64
	Twiddle1    [20][10][2]float32
	Factor1     [4]float32
}

// Tables is what the kernels need to know of c, in their layout.
func Tables(c mel.Config) ([]byte, error) {
	t := tables{
		Scale: float32(logOfTwo(c) / c.Divisor), Bias: float32(c.Offset / c.Divisor),
		Least: float32(c.LogFloor), Range: float32(c.DynamicRange / c.Divisor),
		Mels: int32(c.NMels), Reciprocal: int32(1<<16/(c.NMels/2) + 1),
	}
	if c.Framing == mel.FramingChunk {
		t.Longest = int32(c.MaxSamples())
	}
	if c.DynamicRange == 0 { // there is no floor
		t.Range = math.MaxFloat32
	}
	t.turns()
	if err := t.quads(c); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := binary.Write(&b, binary.LittleEndian, t)
	return b.Bytes(), err
}

// turns fills in the twiddles, and what samples are multiplied by on their way.
func (t *tables) turns() {
	t.Factor1[0] = 0.5 / 32768
	t.Factor[0] = math.Ldexp(0.5/32768, 64) // as exchange.cuh wants it
	for n := range 20 {
		for k := range 10 {
			s, c := math.Sincos(-2 * math.Pi * float64(n*(k+1)) / fft)
			f, f1 := t.Factor[0], t.Factor1[0]
			if k == 9 {
				f, f1 = 1, 1
			}
			t.Twiddle[n][k] = [2]float64{c * f, s * f}
			t.Twiddle1[n][k] = [2]float32{float32(c) * f1, float32(s) * f1}
		}
	}
}

// quads fills in the mel filters of c, four bands at a time: two and two over
// the same bins, with zeros around up to whole groups of four bins, and the same
// number of groups for both.
func (t *tables) quads(c mel.Config) error {
	all, quads := c.Bands(), c.NMels/4
	order, share := divide(all)
	t.Share = share
	at := 0
	for i, q := range order {
		size := groupsOf(all[4*q : 4*q+4])
		if at+size > groups {
			return fmt.Errorf("mel configuration %q: its filters overlap too much for the GPU; use the CPU engine", c.Name)
		}
		t.Number[i], t.Quad[i] = int32(q), uint32(size<<16|at<<24)
		for side := range 2 {
			pair := all[4*q+2*side:][:2]
			first, _ := span(pair[0], pair[1])
			first = min(first, bins-4*size) // the zeros before, where there are no bins after
			t.Quad[i] |= uint32(first) << (8 * side)
			for j, b := range pair {
				for k, w := range b.Weights {
					k += b.First - first
					t.Weight[at+k/4][side][j][k%4] = float32(w)
				}
			}
		}
		at += size
	}
	t.Share[warps] = int32(quads)
	return nil
}

// groupsOf is how many groups of four bins the two pairs of a quad need.
func groupsOf(quad []mel.Band) int {
	_, n := span(quad[0], quad[1])
	_, m := span(quad[2], quad[3])
	return max(1, (max(n, m)+3)/4)
}

// divide divides the quads of a bank among the warps so that all have about as
// much to do, the largest first, each to the warp that has the least: the
// logarithms with their stores cost as much as two groups.
func divide(all []mel.Band) (order []int, share [warps + 2]int32) {
	cost := func(q int) int { return 2 + groupsOf(all[4*q:4*q+4]) }
	sorted := make([]int, len(all)/4)
	for q := range sorted {
		sorted[q] = q
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cost(b) - cost(a) })
	var lists [warps][]int
	var loads [warps]int
	for _, q := range sorted {
		w := 0
		for v := range loads {
			if loads[v] < loads[w] {
				w = v
			}
		}
		lists[w], loads[w] = append(lists[w], q), loads[w]+cost(q)
	}
	for w, list := range lists {
		share[w] = int32(len(order))
		order = append(order, list...)
	}
	return order, share
}

// span is the bins of two filters, of which either may have none.
func span(a, b mel.Band) (first, n int) {
	if a.Weights == nil {
		a = b
	}
	if b.Weights == nil {
		b = a
	}
	first = min(a.First, b.First)
	return first, max(a.First+len(a.Weights), b.First+len(b.Weights)) - first
}
