package shards

import (
	"sync"

	"github.com/melforge/melforge/mel"
)

// tile is how many frames are transposed at once: the values of so many frames
// stay in the processor's cache while each of their mels is gathered.
const tile = 32

// pad writes m as the row-major array [NMels][frames]: transposed, and filled
// up with its pad value. It is mel.Mel.Padded, which goes through all frames for
// each mel, in an order that a cache likes better.
func pad(dst []uint16, m mel.Mel, frames int) {
	for from := 0; from < m.N; from += tile {
		to := min(from+tile, m.N)
		for b := range m.NMels {
			row := dst[b*frames+from : b*frames+to]
			src := m.Frames[from*m.NMels+b:]
			for t := range row {
				row[t] = src[t*m.NMels]
			}
		}
	}
	for b := range m.NMels {
		fill(dst[b*frames+m.N:(b+1)*frames], m.Pad)
	}
}

// unpad writes the first m.N frames of the array [NMels][frames] to m.Frames.
func unpad(m mel.Mel, src []uint16, frames int) {
	for from := 0; from < m.N; from += tile {
		to := min(from+tile, m.N)
		for b := range m.NMels {
			row := src[b*frames+from : b*frames+to]
			dst := m.Frames[from*m.NMels+b:]
			for t, v := range row {
				dst[t*m.NMels] = v
			}
		}
	}
}

// fill sets all of dst to v, by copies that double.
func fill(dst []uint16, v uint16) {
	if len(dst) == 0 {
		return
	}
	dst[0] = v
	for done := 1; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// rows lends memory for one padded clip at a time.
type rows struct {
	size int
	pool sync.Pool
}

func (r *rows) get() *[]uint16 {
	if b, ok := r.pool.Get().(*[]uint16); ok {
		return b
	}
	b := make([]uint16, r.size)
	return &b
}

func (r *rows) put(b *[]uint16) { r.pool.Put(b) }
