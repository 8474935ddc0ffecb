package forge

import "sync"

// slabValues is the size of a slab: 8 MiB, some hundred clips.
const slabValues = 4 << 20

// slabs lends memory for the mels of a shard, in pieces of any size, and gets it
// back all at once. Fresh memory costs more than what is written to it.
type slabs struct {
	pool *sync.Pool // of *[]uint16, shared by all shards

	mu   sync.Mutex
	lent []*[]uint16
	free []uint16 // the rest of the last slab
}

// take gives room for n values, with anything in it.
func (s *slabs) take(n int) []uint16 {
	if n > slabValues {
		return make([]uint16, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > len(s.free) {
		slab, ok := s.pool.Get().(*[]uint16)
		if !ok {
			b := make([]uint16, slabValues)
			slab = &b
		}
		s.lent, s.free = append(s.lent, slab), *slab
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// release takes everything back. Nobody may use it any more.
func (s *slabs) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slab := range s.lent {
		s.pool.Put(slab)
	}
	s.lent, s.free = nil, nil
}
