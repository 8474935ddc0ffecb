// Package wire is what melforge and its worker melforge-tts say to each other:
// a small JSON header, then sound as raw little-endian int16, behind a length.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// The operations a Request can ask for.
const (
	OpLoad  = "load"  // make the voice ready; the reply has its fingerprint
	OpSpeak = "speak" // speak Text; the reply has Rate and samples
)

// Request asks the worker for something.
type Request struct {
	Op      string  `json:"op"`
	Voice   string  `json:"voice"`
	Speaker string  `json:"speaker,omitempty"`
	Text    string  `json:"text,omitempty"`
	Speed   float64 `json:"speed,omitempty"`
}

// Reply is the header of an answer.
type Reply struct {
	Rate        int    `json:"rate,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Refusal and Detail say that this text cannot be spoken.
	Refusal string `json:"refusal,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Encode returns the request as bytes.
func (r Request) Encode() ([]byte, error) { return json.Marshal(r) }

// DecodeRequest reads what Encode wrote.
func DecodeRequest(b []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(b, &r); err != nil {
		return Request{}, fmt.Errorf("request: %w", err)
	}
	return r, nil
}

// Encode returns the reply and its sound as bytes: the header's length as u32,
// the header, the samples.
func (r Reply) Encode(samples []int16) ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 4+len(head)+2*len(samples))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = append(b, head...)
	for _, s := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b, nil
}

var errReply = errors.New("reply: not in the worker's format")

// DecodeReply reads what Reply.Encode wrote.
func DecodeReply(b []byte) (Reply, []int16, error) {
	if len(b) < 4 {
		return Reply{}, nil, errReply
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if n > uint64(len(b)) || (uint64(len(b))-n)%2 != 0 {
		return Reply{}, nil, errReply
	}
	var r Reply
	if err := json.Unmarshal(b[:n], &r); err != nil {
		return Reply{}, nil, fmt.Errorf("%w: %w", errReply, err)
	}
	b = b[n:]
	samples := make([]int16, len(b)/2)
	for i := range samples {
		samples[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return r, samples, nil
}
