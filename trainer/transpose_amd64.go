package trainer

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The kernels' tiles: so many frames by so many mels.
const (
	tileFrames = 16
	tileMels   = 8
)

func vectors() bool { return cpu.X86.HasAVX2 && cpu.X86.HasF16C }

// transpose writes the frames src [n, mels] into the first n columns of dst
// [mels, width]. Where the shape is no multiple of a tile's the last tiles
// overlap the ones before: some values are written twice, and none beyond.
func transpose[T value](dst []T, width int, src []uint16, n, mels int) {
	if n < tileFrames || mels < tileMels || !vectors() {
		transposePlain(dst, width, src, n, mels)
		return
	}
	_, _ = dst[(mels-1)*width+n-1], src[n*mels-1] // what the assembly relies on
	for t := 0; t < n; t += tileFrames {
		t := min(t, n-tileFrames)
		tiles(dst[t:], width, src[t*mels:], mels, mels/tileMels)
		if mels%tileMels != 0 {
			m := mels - tileMels
			tiles(dst[m*width+t:], width, src[t*mels+m:], mels, 1)
		}
	}
}

// tiles transposes n tiles, one below the other.
func tiles[T value](dst []T, width int, src []uint16, mels, n int) {
	switch dst := any(&dst[0]).(type) {
	case *uint16:
		tilesHalf(dst, width*int(unsafe.Sizeof(*dst)), &src[0], mels*2, n)
	case *float32:
		tilesFloat(dst, width*int(unsafe.Sizeof(*dst)), &src[0], mels*2, n)
	}
}

// widenAll is widen for as many values as dst has.
func widenAll(dst []float32, src []uint16) {
	const block = 8
	n := 0
	if len(dst) >= block && vectors() {
		n = len(dst) / block * block
		_ = src[n-1]
		widenBlocks(&dst[0], &src[0], n/block)
	}
	widenPlain(dst[n:], src[n:])
}

//go:noescape
func tilesHalf(dst *uint16, stride int, src *uint16, step, tiles int)

//go:noescape
func tilesFloat(dst *float32, stride int, src *uint16, step, tiles int)

//go:noescape
func widenBlocks(dst *float32, src *uint16, blocks int)
