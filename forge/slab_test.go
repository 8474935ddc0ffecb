package forge

import (
	"sync"
	"testing"
)

// TestSlabs wants rooms of their own, also after all was given back.
func TestSlabs(t *testing.T) {
	s := slabs{pool: new(sync.Pool)}
	for range 3 {
		var rooms [][]uint16
		for i := range 60 {
			r := s.take([]int{0, 1, 777, 100_000, slabValues, slabValues + 1}[i%6])
			for j := range r {
				r[j] = uint16(i)
			}
			rooms = append(rooms, r)
		}
		for i, r := range rooms {
			_ = append(r, 99) // must not reach into the next
			for _, v := range r {
				if v != uint16(i) {
					t.Fatalf("room %d holds %d", i, v)
				}
			}
		}
		s.release()
	}
}
