package trainer

// plan says who reads what from a position of an order on.
//
// A step takes batch clips for each rank. Ranks move in lockstep, so that a
// position, the clips that all ranks have taken together, describes them all,
// and the rest can be divided anew among any number of ranks.
type plan struct {
	batch, world int
	// dropLast leaves out the last clips, too few for a whole step. Otherwise
	// they are divided evenly, and where they are fewer than ranks some get none.
	dropLast bool
	n, start int     // clips in all, and before
	order    []int32 // of all
}

// perStep is how many clips all ranks take together.
func (p plan) perStep() int { return p.batch * p.world }

// steps is how many there are from start on for a rank: the last may have
// clips for some ranks only.
func (p plan) steps(rank int) int {
	left := max(p.n-p.start, 0)
	whole, rest := left/p.perStep(), left%p.perStep()
	if first, end := p.share(rest, rank); first < end && !p.dropLast {
		return whole + 1
	}
	return whole
}

// share is the part of n clips that a rank takes; the first ranks get what is
// left over.
func (p plan) share(n, rank int) (first, end int) {
	return (n*rank + p.world - 1) / p.world, (n*(rank+1) + p.world - 1) / p.world
}

// before is how many steps were made before start.
func (p plan) before() int { return (p.start + p.perStep() - 1) / p.perStep() }

// position is the one after so many steps.
func (p plan) position(steps int) int { return min(p.start+steps*p.perStep(), p.n) }

// indices is what rank reads in a step.
func (p plan) indices(step, rank int) []int32 {
	at := p.start + step*p.perStep()
	all := p.order[at:min(at+p.perStep(), p.n)]
	first, end := p.share(len(all), rank)
	return all[first:end]
}
