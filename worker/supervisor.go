package worker

import (
	"context"
	"errors"
	"fmt"
)

// Supervisor keeps a child running for calls that may kill it. It is safe for
// concurrent use.
//
// When the child dies, every call that was in flight is tried again alone, one
// after the other, while new calls wait. A call that kills a fresh child alone
// is guilty: it gets the *Died and is not tried again. The others get their
// replies as if nothing had happened.
type Supervisor struct {
	o    Options
	gate gate

	lock   chan struct{} // guards what follows; held while a child starts
	child  *Process      // nil before the first call
	spare  *Process      // begun, to be the next child; nil: one is started
	used   bool          // the child has had a call
	closed bool
}

// Supervise returns a Supervisor that lets at most limit calls into the child
// at a time. The child starts with the first call.
func Supervise(o Options, limit int) *Supervisor {
	return &Supervisor{o: o, gate: newGate(max(limit, 1)), lock: make(chan struct{}, 1)}
}

// Adopt takes a child that was begun, with the same options but perhaps the first
// call, to be the next one that is needed.
func (s *Supervisor) Adopt(p *Process) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.spare = p
}

// Call is Process.Call with restarts. A child that does not start is an error
// that is no *Died.
func (s *Supervisor) Call(ctx context.Context, req []byte) ([]byte, error) {
	reply, err := s.together(ctx, req)
	if !isDied(err) {
		return reply, err
	}
	return s.alone(ctx, req)
}

func isDied(err error) bool {
	var died *Died
	return errors.As(err, &died)
}

// together makes the call beside others.
func (s *Supervisor) together(ctx context.Context, req []byte) ([]byte, error) {
	leave, err := s.gate.share(ctx)
	if err != nil {
		return nil, err
	}
	t := s.try(ctx, req)
	t.after(leave)
	return t.reply, t.err
}

// alone makes the call with nothing else in flight. A child that served others
// before may have died of them, so only a fresh one convicts.
func (s *Supervisor) alone(ctx context.Context, req []byte) ([]byte, error) {
	leave, err := s.gate.own(ctx)
	if err != nil {
		return nil, err
	}
	t := s.try(ctx, req)
	if isDied(t.err) && !t.fresh {
		t = s.try(ctx, req)
	}
	t.after(leave)
	return t.reply, t.err
}

// trial is a call that was tried once.
type trial struct {
	c     *call // nil if it did not get as far as the child
	fresh bool  // the child had had no other call
	reply []byte
	err   error
}

func (s *Supervisor) try(ctx context.Context, req []byte) trial {
	child, fresh, err := s.current(ctx)
	if err != nil {
		return trial{err: err}
	}
	c, err := child.begin(ctx, req, s.o.Timeout)
	if err != nil {
		return trial{fresh: fresh, err: err}
	}
	reply, err := c.wait(ctx)
	return trial{c: c, fresh: fresh, reply: reply, err: err}
}

// after calls leave when the child is done with the call. For a caller that
// gave up that is later than its own return.
func (t trial) after(leave func()) {
	if t.c == nil {
		leave()
		return
	}
	select {
	case <-t.c.done:
		leave()
	default:
		go func() {
			<-t.c.done
			leave()
		}()
	}
}

// current returns the child, starting one if there is none alive.
func (s *Supervisor) current(ctx context.Context) (child *Process, fresh bool, err error) {
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if s.closed {
		return nil, false, ErrClosed
	}
	if s.child != nil && !s.child.gone() {
		fresh, s.used = !s.used, true
		return s.child, fresh, nil
	}
	if s.child != nil && s.o.Log != nil {
		s.o.Log(fmt.Sprintf("restarting: %v", s.child.err))
	}
	if child, err = s.start(ctx); err != nil {
		return nil, false, err
	}
	s.child, s.used = child, true
	return child, true, nil
}

// start makes the next child ready.
func (s *Supervisor) start(ctx context.Context) (*Process, error) {
	p := s.spare
	if p == nil {
		return Start(ctx, s.o)
	}
	s.spare = nil
	return p, p.prepare(ctx, s.o.First)
}

// Close ends the child. Calls in flight and later ones get ErrClosed.
func (s *Supervisor) Close() error {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.closed = true
	for _, p := range []*Process{s.spare, s.child} {
		if p != nil {
			_ = p.Close() // it never fails
		}
	}
	return nil
}
