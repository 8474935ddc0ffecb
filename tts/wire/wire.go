// Package wire is what melforge and its worker melforge-tts say to each other:
// a small JSON header behind its length, then sound as raw little-endian int16.
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
	OpAdd   = "add"   // prepare File, or see that what Voice names is there; the reply has its Name
	OpHear  = "hear"  // write down the samples, at Rate; the reply has Text
)

// The folders of the cache that hold what was added, a folder for each.
const (
	VoicesDir = "voices"
	EarsDir   = "ears"
)

// InfoFile describes an added voice, beside its model, as an Info in JSON.
const InfoFile = "info.json"

// Info is what is known of an added voice.
type Info struct {
	Lang        string `json:"lang"`
	Rate        int    `json:"rate"`
	Speakers    int    `json:"speakers"`
	License     string `json:"license"`
	Attribution string `json:"attribution,omitempty"`
	Note        string `json:"note,omitempty"`
}

// Request asks the worker for something.
type Request struct {
	Op      string  `json:"op"`
	Voice   string  `json:"voice"`
	Speaker string  `json:"speaker,omitempty"`
	Text    string  `json:"text,omitempty"`
	Speed   float64 `json:"speed,omitempty"`
	File    string  `json:"file,omitempty"`
	Rate    int     `json:"rate,omitempty"`
}

// Reply is the header of an answer.
type Reply struct {
	Rate        int    `json:"rate,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Speakers    int    `json:"speakers,omitempty"`
	Name        string `json:"name,omitempty"`
	Text        string `json:"text,omitempty"`
	// Refusal and Detail say that this text cannot be spoken.
	Refusal string `json:"refusal,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Encode returns the request and its sound as bytes.
func (r Request) Encode(samples []int16) ([]byte, error) { return encode(r, samples) }

// DecodeRequest reads what Request.Encode wrote.
func DecodeRequest(b []byte) (Request, []int16, error) {
	var r Request
	samples, err := decode(b, &r)
	if err != nil {
		return Request{}, nil, fmt.Errorf("request: %w", err)
	}
	return r, samples, nil
}

// Encode returns the reply and its sound as bytes.
func (r Reply) Encode(samples []int16) ([]byte, error) { return encode(r, samples) }

// DecodeReply reads what Reply.Encode wrote.
func DecodeReply(b []byte) (Reply, []int16, error) {
	var r Reply
	samples, err := decode(b, &r)
	if err != nil {
		return Reply{}, nil, fmt.Errorf("reply: %w", err)
	}
	return r, samples, nil
}

// encode returns the header's length as u32, the header, the samples.
func encode(header any, samples []int16) ([]byte, error) {
	head, err := json.Marshal(header)
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

var errFormat = errors.New("not in the worker's format")

func decode(b []byte, header any) ([]int16, error) {
	if len(b) < 4 {
		return nil, errFormat
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if n > uint64(len(b)) || (uint64(len(b))-n)%2 != 0 {
		return nil, errFormat
	}
	if err := json.Unmarshal(b[:n], header); err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	b = b[n:]
	samples := make([]int16, len(b)/2)
	for i := range samples {
		samples[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return samples, nil
}
