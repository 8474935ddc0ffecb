package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// call is one request in flight.
type call struct {
	p     *Process
	id    uint64
	timer *time.Timer   // kills the child; nil without a timeout
	done  chan struct{} // closed when reply and err are set
	reply []byte
	err   error
}

// Call sends a request and waits for its reply. An error of the handler is a
// *RemoteError, the child's end a *Died. When ctx ends Call returns at once;
// the child is told and may go on for a while.
func (p *Process) Call(ctx context.Context, req []byte) ([]byte, error) {
	c, err := p.begin(ctx, req, p.o.Timeout)
	if err != nil {
		return nil, err
	}
	return c.wait(ctx)
}

// prepare makes the call that a child needs before it is ready for others, if
// there is one. A child that fails it has not started.
func (p *Process) prepare(ctx context.Context, first []byte) error {
	if first == nil {
		return nil
	}
	c, err := p.begin(ctx, first, startTimeout)
	if err == nil {
		_, err = c.wait(ctx)
	}
	if err == nil {
		return nil
	}
	if !p.gone() {
		p.kill()
		<-p.done
	}
	if ctx.Err() != nil {
		return fmt.Errorf("worker: %s is not ready: %w", p.name, ctx.Err())
	}
	var died *Died
	if errors.As(err, &died) { // which would be that of a call
		err = errors.New(died.how())
	}
	return fmt.Errorf("worker: %s did not start: %v", p.name, err) // nor its own error, for nobody asked anything
}

// begin sends a request. The call it returns ends by itself: with a reply, with
// the child, or by the timeout, if it is not 0, which ends the child.
func (p *Process) begin(ctx context.Context, req []byte, timeout time.Duration) (*call, error) {
	if len(req) > MaxPayload {
		return nil, fmt.Errorf("worker: request of %d bytes, the limit is %d", len(req), MaxPayload)
	}
	c, err := p.register(timeout)
	if err != nil {
		return nil, err
	}
	select {
	case p.out <- frame{id: c.id, kind: kindCall, payload: req}:
		return c, nil
	case <-c.done: // the child is gone
		return nil, c.err
	case <-ctx.Done():
		p.settle(c.id, nil, ctx.Err())
		return nil, ctx.Err()
	}
}

func (p *Process) register(timeout time.Duration) (*call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	if p.closing {
		return nil, ErrClosed
	}
	p.lastID++
	c := &call{p: p, id: p.lastID, done: make(chan struct{})}
	if timeout > 0 {
		c.timer = time.AfterFunc(timeout, func() { p.expire(c.id, timeout) })
	}
	p.calls[c.id] = c
	return c, nil
}

// expire kills the child because a call takes too long.
func (p *Process) expire(id uint64, timeout time.Duration) {
	p.mu.Lock()
	_, open := p.calls[id]
	if open {
		p.timedOut = timeout
	}
	p.mu.Unlock()
	if open {
		p.kill()
	}
}

// settle ends a call, if it is still open.
func (p *Process) settle(id uint64, reply []byte, err error) {
	p.mu.Lock()
	c := p.calls[id]
	delete(p.calls, id)
	p.mu.Unlock()
	if c != nil {
		c.end(reply, err)
	}
}

func (c *call) end(reply []byte, err error) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.reply, c.err = reply, err
	close(c.done)
}

func (c *call) wait(ctx context.Context) ([]byte, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		go c.cancel()
		return nil, ctx.Err()
	}
}

// cancel tells the child that nobody waits.
func (c *call) cancel() {
	select {
	case c.p.out <- frame{id: c.id, kind: kindCancel}:
	case <-c.done:
	}
}

// write is the only goroutine that writes to the socket, so that a caller whose
// context ends is not stuck behind a child that does not read.
func (p *Process) write() {
	for {
		select {
		case f := <-p.out:
			if err := writeFrame(p.conn, f); err != nil {
				p.kill() // it is gone or closing; nothing can reach it any more
				return
			}
		case <-p.done:
			return
		}
	}
}

// read hands replies to their calls until the child is gone.
func (p *Process) read() {
	defer close(p.drained)
	in := bufio.NewReader(p.conn)
	ready := false
	for {
		f, err := readFrame(in)
		switch {
		case err != nil:
			if !ended(err) {
				p.giveUp(err)
			}
			p.kill() // a child without a socket is of no use
			return
		case !ready:
			if f.kind != kindHello || len(f.payload) == 0 || f.payload[0] != version {
				p.giveUp(fmt.Errorf("it speaks another protocol than %d: use the programs of one release", version))
				return
			}
			ready = true
			p.about = f.payload[1:]
			close(p.hello)
		case f.kind == kindReply:
			p.settle(f.id, f.payload, nil)
		case f.kind == kindError:
			p.settle(f.id, nil, &RemoteError{Worker: p.name, Message: string(f.payload)})
		default:
			p.giveUp(fmt.Errorf("%w: kind %d from the child", errFrame, f.kind))
			return
		}
	}
}

// finish ends every call that is still open, after the child was reaped.
func (p *Process) finish(waitErr error) {
	p.conn.Close()
	p.mu.Lock()
	p.err = ErrClosed
	if !p.closing {
		p.err = p.obituary(waitErr)
	}
	open := p.calls
	p.calls = nil
	p.mu.Unlock()
	close(p.done)
	for _, c := range open {
		c.end(nil, p.err)
	}
}

// ended reports whether an error of the socket only means that the child is
// gone: between two frames, within one, or with a request that it never read.
func ended(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, os.ErrDeadlineExceeded, net.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// obituary says how the child ended. p.mu is held.
func (p *Process) obituary(waitErr error) error {
	d := &Died{Worker: p.name, State: "exit status 0", Stderr: p.words.tail()}
	switch {
	case p.protocol != nil:
		d.State = p.protocol.Error()
	case p.cmd.ProcessState != nil:
		d.State = p.cmd.ProcessState.String()
	case waitErr != nil:
		d.State = waitErr.Error()
	}
	d.Timeout = p.timedOut
	return d
}
