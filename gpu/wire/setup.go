package wire

import (
	"encoding/json"
	"fmt"

	"github.com/melforge/melforge/mel"
)

// Layout is how the shared memory is divided: into slots, each with room for
// samples and, behind it, for FP16 values.
type Layout struct {
	Slots   int `json:"slots"`
	Samples int `json:"samples"` // of a slot
	Out     int `json:"out"`     // FP16 values of a slot
	NMels   int `json:"n_mels"`
}

// page is what slots are aligned to.
const page = 4096

func pages(n int) int { return (n + page - 1) / page * page }

// NewLayout has slots for that many samples each, and for the frames of them:
// for those of clips of a second or more, and in any case of one longest clip.
func NewLayout(c mel.Config, slots, samples int) Layout {
	samples = max(up(samples), up(MaxClip(c)))
	l := Layout{Slots: slots, Samples: samples, NMels: c.NMels}
	second := l.OutOf(uint64(c.Frames(c.Rate)))
	l.Out = int(uint64(samples/c.Rate+1)*second) + int(l.OutOf(uint64(c.Frames(MaxClip(c)))))
	return l
}

// up rounds up to Align.
func up(n int) int { return (n + Align - 1) / Align * Align }

// OutOf is the room that frames and the padding's value take.
func (l Layout) OutOf(frames uint64) uint64 {
	return (frames*uint64(l.NMels)+Align-1)/Align*Align + Align
}

// Stride is the size of a slot in bytes.
func (l Layout) Stride() int { return pages(2*l.Samples) + pages(2*l.Out) }

// Bytes is the size of the whole.
func (l Layout) Bytes() int { return l.Slots * l.Stride() }

// SamplesOf is the part of the memory in which a slot's samples lie.
func (l Layout) SamplesOf(memory []byte, slot int) []byte {
	at := slot * l.Stride()
	return memory[at : at+2*l.Samples : at+2*l.Samples]
}

// OutputOf is the part of the memory in which a slot's frames lie.
func (l Layout) OutputOf(memory []byte, slot int) []byte {
	at := slot*l.Stride() + pages(2*l.Samples)
	return memory[at : at+2*l.Out : at+2*l.Out]
}

// Setup is the first call of a worker, or what it is to measure.
type Setup struct {
	Device  int        `json:"device"`
	Config  mel.Config `json:"config"`
	Memory  string     `json:"memory"`
	Layout  Layout     `json:"layout"`
	Chunk   int        `json:"chunk"`             // samples that the device holds at once; halved where its memory is short
	Buffers int        `json:"buffers"`           // how many chunks are on the device
	Groups  int        `json:"groups,omitempty"`  // of threads to a block of the kernel; 0: as many as fit
	Single  bool       `json:"single,omitempty"`  // transform in single precision where double would do
	Compile bool       `json:"compile,omitempty"` // compile PTX where native code would do
	Provoke string     `json:"provoke,omitempty"` // a fault to provoke, for tests
}

// Faults that a worker provokes in its own process when told to: the fault, "@"
// and the path of a file. Who creates the file provokes the fault, so that it
// happens once. It happens while a batch is in flight.
const (
	ProvokeHang  = "hang"  // a kernel that never ends
	ProvokeFault = "fault" // a kernel that reads where it may not, which loses the device for the process
	ProvokeDeath = "death" // the process is killed
)

// Encode is the setup as a call or an argument.
func (s Setup) Encode() (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// DecodeSetup reads it again.
func DecodeSetup(arg string) (Setup, error) {
	var s Setup
	if err := json.Unmarshal([]byte(arg), &s); err != nil {
		return Setup{}, fmt.Errorf("setup: %w", err)
	}
	if err := s.Config.Validate(); err != nil {
		return Setup{}, err
	}
	if err := Supports(s.Config); err != nil {
		return Setup{}, err
	}
	if s.Layout.Slots < 1 || s.Layout.NMels != s.Config.NMels || s.Layout.Samples < MaxClip(s.Config) || s.Chunk < 1 || s.Buffers < 1 {
		return Setup{}, fmt.Errorf("setup: impossible layout %+v, %d buffers of %d samples", s.Layout, s.Buffers, s.Chunk)
	}
	return s, nil
}

// longest is the samples of a clip for which slots can be made, and unpadded
// those of the longest where clips are not padded to a chunk.
const (
	longest  = 1 << 22
	unpadded = 1 << 20
)

// MaxClip is the samples of the longest clip that a slot and the device have room
// for. Longer ones, which only a configuration without a chunk has, are for the
// CPU.
func MaxClip(c mel.Config) int {
	if c.Framing == mel.FramingChunk {
		return c.MaxSamples()
	}
	return min(c.MaxSamples(), unpadded)
}

// BenchClip is the samples of the clips of benchmarks: half a minute's, if a clip
// can be as long.
func BenchClip(c mel.Config) int { return min(30*c.Rate, MaxClip(c)) }

// Supports reports what keeps the device from computing c. What its kernels
// cannot do they say themselves.
func Supports(c mel.Config) error {
	n := c.NFFT
	for _, p := range []int{2, 3, 5} {
		for n%p == 0 {
			n /= p
		}
	}
	why := ""
	switch {
	case n != 1 || c.NFFT > 4096:
		why = fmt.Sprintf("transforms of up to 4096 points, with no prime factors but 2, 3 and 5, not of %d", c.NFFT)
	case c.NMels > 512:
		why = fmt.Sprintf("up to 512 mels, not %d", c.NMels)
	case c.MaxSamples() < c.NFFT || MaxClip(c) > longest:
		why = fmt.Sprintf("clips of up to %d samples, not %d", longest, c.MaxSamples())
	default:
		return nil
	}
	return fmt.Errorf("mel configuration %q: the GPU computes %s; use the CPU engine", c.Name, why)
}
