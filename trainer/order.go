package trainer

import (
	"cmp"
	"slices"
)

// Order says in which order the clips of an epoch come. It is a function of
// numbers, so that every rank computes the same one without talking to the
// others, and the same one as the Python package.
type Order struct {
	Seed  int64
	Epoch int
	// Sequential keeps the order of the manifest instead of shuffling.
	Sequential bool
	// Buckets, from 2 on, has clips of similar length share a batch: each
	// stretch of so many batches is sorted by length and cut into batches, whose
	// order is drawn again. What does not fill a batch comes last.
	Buckets int
	// Batch is the clips in a batch; it matters with Buckets only.
	Batch int
}

// Indices gives the order of n clips of which frames says the lengths.
func (o Order) Indices(n int, frames func(i int) int) []int32 {
	order := make([]int32, n)
	if o.Sequential {
		for i := range order {
			order[i] = int32(i)
		}
	} else {
		order = shuffled(n, uint64(o.Seed), uint64(o.Epoch), 0)
	}
	if o.Buckets <= 1 || n < o.Batch {
		return order
	}
	whole := n / o.Batch * o.Batch
	for start := 0; start < whole; start += o.Buckets * o.Batch {
		o.sort(order[start:min(start+o.Buckets*o.Batch, whole)], start, frames)
	}
	return order
}

// sort arranges one stretch of whole batches.
func (o Order) sort(part []int32, start int, frames func(i int) int) {
	slices.SortStableFunc(part, func(a, b int32) int { return cmp.Compare(frames(int(a)), frames(int(b))) })
	if o.Sequential {
		return
	}
	sorted := slices.Clone(part)
	for i, from := range shuffled(len(part)/o.Batch, uint64(o.Seed), uint64(o.Epoch), uint64(1+start)) {
		copy(part[i*o.Batch:], sorted[int(from)*o.Batch:][:o.Batch])
	}
}

// golden is what splitmix64 adds to its state at every step.
const golden = 0x9e3779b97f4a7c15

// scramble is splitmix64's bijection of 64 bits.
func scramble(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// mix hashes numbers to 64 bits.
func mix(words ...uint64) (h uint64) {
	for _, w := range words {
		h = scramble(h + golden + w)
	}
	return h
}

// shuffled is a permutation of 0 to n-1 that depends on n and seed alone: the
// order of n numbers of splitmix64, which are all different.
func shuffled(n int, seed ...uint64) []int32 {
	type draw struct {
		number uint64
		i      int32
	}
	state := mix(seed...)
	draws := make([]draw, n)
	for i := range draws {
		state += golden
		draws[i] = draw{scramble(state), int32(i)}
	}
	slices.SortFunc(draws, func(a, b draw) int { return cmp.Compare(a.number, b.number) })
	order := make([]int32, n)
	for i, d := range draws {
		order[i] = d.i
	}
	return order
}
