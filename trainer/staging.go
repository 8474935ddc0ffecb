package trainer

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unsafe"
)

// memory is the bytes of one batch.
type memory []byte

// view gives the first n values of T in m.
func view[T value](m memory, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m))), n)
}

// staging lends out the memory of batches, again and again, so that training
// makes no garbage and page-locked memory is locked once.
type staging struct {
	alloc func(bytes int) ([]byte, error)
	free  func([]byte)
	most  int // bytes that may be idle beside new ones

	mu     sync.Mutex
	idle   []memory // by size
	bytes  int      // of idle
	closed bool
}

func newStaging(o LoaderOptions) *staging {
	s := &staging{alloc: o.Alloc, free: o.Free, most: o.Prefetch}
	if s.alloc == nil {
		// Of float32, since bytes need not be aligned.
		s.alloc = func(n int) ([]byte, error) {
			f := make([]float32, n/4)
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), n), nil
		}
	}
	if s.free == nil {
		s.free = func([]byte) {}
	}
	return s
}

// roomy rounds a size up by less than a quarter, so that batches of almost the
// same size can use the same memory.
func roomy(n int) int {
	step := max(1<<bits.Len(uint(n))/8, 4096)
	return (n + step - 1) / step * step
}

// get lends memory for n bytes.
func (s *staging) get(n int) (memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.idle, func(m memory) bool { return len(m) >= n }); i >= 0 && len(s.idle[i]) <= 2*roomy(n) {
		m := s.idle[i]
		s.idle = slices.Delete(s.idle, i, i+1)
		s.bytes -= len(m)
		return m, nil
	}
	// All that is idle does not fit: the smallest goes first.
	for len(s.idle) > 0 && s.bytes+roomy(n) > s.most {
		s.bytes -= len(s.idle[0])
		s.free(s.idle[0])
		s.idle = slices.Delete(s.idle, 0, 1)
	}
	b, err := s.alloc(roomy(n))
	if err != nil {
		return nil, fmt.Errorf("memory for a batch of %d bytes: %w", n, err)
	}
	if len(b) < n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 != 0 {
		s.free(b)
		return nil, fmt.Errorf("memory for a batch: Alloc gave %d bytes for %d, or they are not aligned to 4", len(b), n)
	}
	return b, nil
}

// put takes memory back.
func (s *staging) put(m memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.free(m)
		return
	}
	i, _ := slices.BinarySearchFunc(s.idle, len(m), func(m memory, n int) int { return len(m) - n })
	s.idle = slices.Insert(s.idle, i, m)
	s.bytes += len(m)
}

// ended says whether it was closed.
func (s *staging) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// close frees what is idle; what is still lent is freed when it comes back.
func (s *staging) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, m := range s.idle {
		s.free(m)
	}
	s.idle, s.bytes = nil, 0
}
