package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

func TestFrameLimits(t *testing.T) {
	if err := writeFrame(io.Discard, frame{kind: kindCall, payload: make([]byte, MaxPayload+1)}); err == nil {
		t.Error("a payload above the limit was written")
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, byte(kindReply)}
	if _, err := readFrame(bytes.NewReader(huge)); !errors.Is(err, errFrame) {
		t.Errorf("a length above the limit: %v", err)
	}
}

func TestServeEndsWithItsParent(t *testing.T) {
	ours, theirs := net.Pipe()
	ended := make(chan error)
	stopped := make(chan struct{})
	go func() {
		ended <- Serve(theirs, func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			close(stopped)
			return nil, ctx.Err()
		})
	}()
	if f, err := readFrame(ours); err != nil || f.kind != kindHello {
		t.Fatalf("first frame %+v, %v", f, err)
	}
	if err := writeFrame(ours, frame{id: 1, kind: kindCall}); err != nil {
		t.Fatal(err)
	}
	ours.Close()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v, want nil", err)
	}
	<-stopped
}

func FuzzReadFrame(f *testing.F) {
	for _, fr := range []frame{{id: 1, kind: kindHello, payload: []byte{version}}, {id: 1 << 60, kind: kindReply, payload: []byte("abc")}, {kind: kindCancel}} {
		var b bytes.Buffer
		if err := writeFrame(&b, fr); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("Hello! This is not a frame."))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var back bytes.Buffer
		for {
			fr, err := readFrame(r)
			if err != nil {
				break
			}
			if err := writeFrame(&back, fr); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, back.Bytes()) {
			t.Errorf("%x was read as %x", data, back.Bytes())
		}
	})
}
