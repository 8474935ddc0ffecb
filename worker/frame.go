package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// version is spoken in the first frame of a child, so that a parent never
// feeds a worker of another release.
const version = 2

// MaxPayload is the most that one request or reply may carry.
const MaxPayload = 64 << 20

// kind says what a frame is about.
type kind uint8

const (
	kindHello  kind = iota + 1 // child: ready; the payload is the version, and what it says of itself
	kindCall                   // parent: a request
	kindCancel                 // parent: nobody waits for this call any more
	kindReply                  // child: the answer to a call
	kindError                  // child: the handler's error, as text
	kindEnd                    // one past the last
)

// frame is one message. On the wire: payload length u32, id u64, kind u8, all
// little-endian, then the payload.
type frame struct {
	id      uint64
	kind    kind
	payload []byte
}

const headerSize = 4 + 8 + 1

// oneWrite is the bytes of a payload that go out together with their header, so
// that the other side wakes up once.
const oneWrite = 4096

// errFrame marks bytes that are no frame: the other side is not a worker, or
// something wrote over the socket.
var errFrame = errors.New("not a worker frame")

func writeFrame(w io.Writer, f frame) error {
	if len(f.payload) > MaxPayload {
		return fmt.Errorf("payload of %d bytes, the limit is %d", len(f.payload), MaxPayload)
	}
	h := make([]byte, headerSize, headerSize+min(len(f.payload), oneWrite))
	binary.LittleEndian.PutUint32(h[0:], uint32(len(f.payload)))
	binary.LittleEndian.PutUint64(h[4:], f.id)
	h[12] = byte(f.kind)
	payload := f.payload
	if len(payload) <= oneWrite {
		h, payload = append(h, payload...), nil
	}
	if _, err := w.Write(h); err != nil || len(payload) == 0 {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// readFrame returns io.EOF only at the boundary between two frames.
func readFrame(r io.Reader) (frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	n := int64(binary.LittleEndian.Uint32(h[0:]))
	f := frame{id: binary.LittleEndian.Uint64(h[4:]), kind: kind(h[12])}
	if n > MaxPayload || f.kind == 0 || f.kind >= kindEnd {
		return frame{}, fmt.Errorf("%w: kind %d, %d bytes", errFrame, f.kind, n)
	}
	// The buffer grows with what really arrives: a lying length costs nothing.
	var b bytes.Buffer
	b.Grow(int(min(n, 256<<10)))
	if _, err := io.CopyN(&b, r, n); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	f.payload = b.Bytes()
	return f, nil
}
