package worker

import "context"

// gate lets in a number of calls together, or one alone. Channels serve their
// waiters in order, so a call that wants to be alone is not starved.
type gate struct {
	seats chan struct{} // one element for each seat taken
	owner chan struct{} // full while somebody takes all seats
}

func newGate(n int) gate {
	return gate{seats: make(chan struct{}, n), owner: make(chan struct{}, 1)}
}

// share takes a seat; leave gives it back.
func (g gate) share(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case g.seats <- struct{}{}:
		return func() { <-g.seats }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// own takes all seats; leave gives them back.
func (g gate) own(ctx context.Context) (leave func(), err error) {
	select {
	case g.owner <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	taken := 0
	leave = func() {
		for ; taken > 0; taken-- {
			<-g.seats
		}
		<-g.owner
	}
	for taken < cap(g.seats) {
		select {
		case g.seats <- struct{}{}:
			taken++
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}
