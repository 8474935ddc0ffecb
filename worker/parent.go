package worker

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// Parent is the other side as a child sees it that answers calls in an order and
// on threads of its own. Others use Serve.
type Parent struct {
	conn  io.Writer
	in    *bufio.Reader
	write sync.Mutex // one frame at a time
}

// Greet tells the parent that this child is ready, and what it has to say of
// itself.
func Greet(conn io.ReadWriter, about []byte) (*Parent, error) {
	p := &Parent{conn: conn, in: bufio.NewReader(conn)}
	return p, p.send(frame{kind: kindHello, payload: append([]byte{version}, about...)})
}

// Next waits for the next call, whose reply is due under the same id. It is for
// one goroutine. The parent's end is io.EOF. That nobody waits for a call any
// more is not told.
func (p *Parent) Next() (id uint64, request []byte, err error) {
	for {
		f, err := p.next()
		if err != nil || f.kind == kindCall {
			return f.id, f.payload, err
		}
	}
}

func (p *Parent) next() (frame, error) {
	f, err := readFrame(p.in)
	switch {
	case err == io.EOF:
		return f, err
	case err != nil:
		return f, fmt.Errorf("worker: read from parent: %w", err)
	case f.kind != kindCall && f.kind != kindCancel:
		return f, fmt.Errorf("worker: %w: kind %d from parent", errFrame, f.kind)
	}
	return f, nil
}

// Reply answers a call, with an error if there is one. It is safe for concurrent
// use.
func (p *Parent) Reply(id uint64, reply []byte, err error) error {
	if err == nil && len(reply) > MaxPayload {
		err = fmt.Errorf("reply of %d bytes, the limit is %d", len(reply), MaxPayload)
	}
	if err != nil {
		return p.send(frame{id: id, kind: kindError, payload: []byte(err.Error())})
	}
	return p.send(frame{id: id, kind: kindReply, payload: reply})
}

func (p *Parent) send(f frame) error {
	p.write.Lock()
	defer p.write.Unlock()
	return writeFrame(p.conn, f)
}
