package spectra

import (
	"slices"
	"unsafe"
)

// line is the bytes to which vectors are aligned, so that none costs two reads.
const line = 64

// aligned is an empty slice with room for n values from a multiple of line on.
func aligned[T any](n int) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	s := make([]T, n+line/size)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(s)))) & (line - 1) / size
	return s[skip : skip : skip+n]
}

// Scratch is the memory that one computation at a time needs. It keeps the
// logarithms of one clip: for each block of frames, [band][lane].
type Scratch struct {
	work []float64
	tile []float64
	sums []float64
	logs []float32
	peak [Lanes]float32
}

// NewScratch returns memory for p's computations.
func (p *Plan) NewScratch() *Scratch {
	room := func(n int) []float64 { return aligned[float64](n)[:n] }
	return &Scratch{
		work: room(p.layout.work()),
		tile: room(p.hop*p.stride() + Lanes),
		sums: room(p.Bands() * Lanes),
	}
}

// Bands is the number of values in a frame.
func (p *Plan) Bands() int { return len(p.counts) }

// Blocks is the number of blocks that hold so many frames.
func Blocks(frames int) int { return (frames + Lanes - 1) / Lanes }

// Clip is what a plan works on.
type Clip struct {
	Padded []int16 // the samples between the margins of [Plan.Margin]
	Frames int
	Stop   int                     // the index in Padded from which on there is no emphasis, all being zero; 0: none
	Centre func(frame int) float64 // what is taken from a frame's samples, after emphasis; nil: nothing
}

// Logs computes the logarithms of the clip's frames into s, and returns their
// maximum, or lowest if that is greater.
func (p *Plan) Logs(s *Scratch, c Clip, lowest float32) float32 {
	size := Blocks(c.Frames) * len(s.sums)
	if cap(s.logs) < size {
		s.logs = aligned[float32](size)
	}
	s.logs = s.logs[:size]
	for i := range s.peak {
		s.peak[i] = lowest
	}
	p.each(s, c, func(block int) {
		before := s.peak
		p.kernels.logs(s.logs[block*len(s.sums):][:len(s.sums)], &s.peak, s.sums, &p.log)
		if real := c.Frames - block*Lanes; real < Lanes {
			copy(s.peak[real:], before[real:])
		}
	})
	return slices.Max(s.peak[:])
}

// each leaves the sums of one block after another in s.sums, and calls use.
func (p *Plan) each(s *Scratch, c Clip, use func(block int)) {
	k := p.kernels
	// The first columns are the last ones of the block before.
	p.columns(s, c, -1)
	for block := range Blocks(c.Frames) {
		p.columns(s, c, block)
		if c.Centre != nil {
			for lane := range Lanes {
				s.work[p.centre()+lane] = c.Centre(min(block*Lanes+lane, c.Frames-1))
			}
		}
		k.power(p.layout, s.work, s.tile, p.table)
		if p.magnitude {
			k.roots(s.work[:p.centre()], p.rootBias)
		}
		k.sums(s.sums, s.work, p.taps, p.counts, p.bias)
		use(block)
	}
}

// columns brings in the samples that a block of frames needs beyond those that
// the block before had.
func (p *Plan) columns(s *Scratch, c Clip, block int) {
	at := (block + 1) * Lanes * p.hop
	p.kernels.columns(s.tile, c.Padded[at:], p.hop, p.extra, p.emphasis)
	if i := c.Stop - at - 1; c.Stop > 0 && i >= 0 && i < Lanes*p.hop {
		s.tile[i%p.hop*p.stride()+p.extra+i/p.hop] = 0
	}
}

// Shrink gives up the memory of a long clip.
func (s *Scratch) Shrink() {
	const keep = 4 << 20
	if cap(s.logs) > keep {
		s.logs = nil
	}
}

// Scale turns logarithms into what is stored: (max(x, Floor) + Offset)·Factor.
type Scale struct{ Floor, Offset, Factor float32 }

// Apply is the scaled x.
func (s Scale) Apply(x float32) float32 { return float32(max(x, s.Floor)+s.Offset) * s.Factor }

// Halves writes the frames in s as FP16, row-major, into dst, which has room
// for whole blocks.
func (p *Plan) Halves(dst []uint16, s *Scratch, scale Scale) {
	size := p.Bands() * Lanes
	for at := 0; at < len(s.logs); at += size {
		p.kernels.halves(dst[at:at+size], s.logs[at:at+size], p.Bands(), &scale)
	}
}

// Floats writes the frames in s, row-major, into dst, as they are before
// [Plan.Halves] rounds them.
func (p *Plan) Floats(dst []float32, s *Scratch, scale Scale) {
	for i := range dst {
		frame, b := i/p.Bands(), i%p.Bands()
		dst[i] = scale.Apply(s.logs[(frame/Lanes*p.Bands()+b)*Lanes+frame%Lanes])
	}
}

// Features computes the clip's frames, row-major, before they are scaled, in
// float64. It is for what is normalised over the clip, where float32 would not
// do, and slower than [Plan.Logs].
func (p *Plan) Features(dst []float64, s *Scratch, c Clip) {
	p.each(s, c, func(block int) {
		for lane := range min(Lanes, c.Frames-block*Lanes) {
			row := dst[(block*Lanes+lane)*p.Bands():][:p.Bands()]
			for b := range row {
				row[b] = p.log.exact(s.sums[b*Lanes+lane])
			}
		}
	})
}
