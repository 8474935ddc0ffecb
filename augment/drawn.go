package augment

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// algorithm changes when Apply comes to give other bytes for the same Drawn.
const algorithm = 1

// Drawn is what is done to one clip. The zero Drawn is nothing. Drawns are
// comparable, and go through JSON unchanged.
type Drawn struct {
	Speed     float64 `json:"speed,omitempty"` // factor; 0 is none
	Reverb    Room    `json:"reverb,omitzero"`
	Noise     Mix     `json:"noise,omitzero"`
	LowPass   float64 `json:"low_pass,omitempty"` // Hz; 0 is none
	Telephone bool    `json:"telephone,omitempty"`
	Gain      float64 `json:"gain,omitempty"` // dB
}

// Asset names a file by its path within its folder, for people, and by its
// content, for Apply.
type Asset struct {
	File string `json:"file"`
	Hash string `json:"hash"` // the first half of its SHA-256, in hex
}

// Room is an impulse response and how much of it is heard.
type Room struct {
	Asset
	Wet float64 `json:"wet"`
}

// Mix is a noise from a place on, and how far it is below the speech.
type Mix struct {
	Asset
	Offset int     `json:"offset"` // samples at the clip's rate
	SNR    float64 `json:"snr"`    // dB
}

// Key is the part of a clip's key that stands for the augmentation: equal keys,
// equal sound. It is empty where nothing is done, so that a plain clip keeps
// its key. Names of files are not in it, their content is.
func (d Drawn) Key() string {
	if d == (Drawn{}) {
		return ""
	}
	return fmt.Sprintf("augment/%d speed=%g reverb=%s,%g noise=%s,%d,%g low_pass=%g telephone=%t gain=%g", algorithm,
		d.Speed, d.Reverb.Hash, d.Reverb.Wet, d.Noise.Hash, d.Noise.Offset, d.Noise.SNR, d.LowPass, d.Telephone, d.Gain)
}

// validate reports a value that Draw does not draw: a Drawn may come from a
// file.
func (d Drawn) validate() error {
	for _, v := range []struct {
		grid  grid
		value float64
		drawn bool
	}{
		{speedGrid, d.Speed, d.Speed != 0},
		{wetGrid, d.Reverb.Wet, true},
		{snrGrid, d.Noise.SNR, true},
		{lowPassGrid, d.LowPass, d.LowPass != 0},
		{gainGrid, d.Gain, true},
	} {
		if !v.drawn {
			continue
		}
		if err := v.grid.check(v.value); err != nil {
			return err
		}
	}
	if d.Noise.Offset < 0 {
		return fmt.Errorf("augment: noise.offset is %d: it cannot be negative", d.Noise.Offset)
	}
	return nil
}

// Draw decides what is done to variant number version of the clip id. Every
// effect has a stream of random numbers of its own, seeded by these arguments
// and its name: changing one effect of a recipe leaves the draws of the others.
// Adding a file to a folder, too, changes only the draws that choose this file.
//
// The recipe must be valid and the assets loaded for it; they may be nil for a
// recipe without files.
func Draw(r Recipe, a *Assets, seed int64, id string, version int) Drawn {
	var d Drawn
	stream := func(effect string, probability float64) *stream {
		s := newStream(effect, seed, id, version)
		if s.float() >= probability {
			return nil
		}
		return s
	}
	if s := stream("speed", r.Speed.Probability); s != nil {
		if d.Speed = s.value(speedGrid, r.Speed.Factor); d.Speed == 1 {
			d.Speed = 0
		}
	}
	if s := stream("reverb", r.Reverb.Probability); s != nil {
		if i := pick(s, a.impulseList()); i != nil {
			d.Reverb = Room{Asset: i.Asset, Wet: s.value(wetGrid, r.Reverb.Wet)}
		}
	}
	if s := stream("noise", r.Noise.Probability); s != nil {
		if n := pick(s, a.noiseList()); n != nil {
			d.Noise = Mix{Asset: n.Asset, SNR: s.value(snrGrid, r.Noise.SNR), Offset: int(s.below(int64(len(n.samples))))}
		}
	}
	if s := stream("low_pass", r.LowPass.Probability); s != nil {
		d.LowPass = s.value(lowPassGrid, r.LowPass.Hz)
	}
	if s := stream("telephone", r.Telephone.Probability); s != nil {
		d.Telephone = true
	}
	if s := stream("gain", r.Gain.Probability); s != nil {
		d.Gain = s.value(gainGrid, r.Gain.DB)
	}
	return d
}

// stream is a source of random numbers that are the same everywhere and in
// every release: it takes only PCG's bits from the library.
type stream struct{ pcg *rand.PCG }

func newStream(effect string, seed int64, id string, version int) *stream {
	sum := sha256.Sum256(fmt.Appendf(nil, "melforge augment\x00%s\x00%d\x00%d\x00%s", effect, seed, version, id))
	return &stream{rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))}
}

// float is even in [0, 1).
func (s *stream) float() float64 { return float64(s.pcg.Uint64()>>11) / (1 << 53) }

// below is even in 0..n-1; n is far below 2^53.
func (s *stream) below(n int64) int64 { return int64(s.float() * float64(n)) }

// value is a point of the grid in r.
func (s *stream) value(g grid, r Range) float64 {
	lo, hi := g.span(r)
	return float64(lo+s.below(hi-lo+1)) / g.steps
}

// pick chooses a file by rendezvous: every file gets a score from the stream and
// its own content, and the highest wins. It returns nil where there is none.
func pick[T interface{ tag() uint64 }](s *stream, files []T) (best T) {
	salt := s.pcg.Uint64()
	var highest uint64
	for i, f := range files {
		score := rand.NewPCG(salt, f.tag()).Uint64()
		if i == 0 || score > highest {
			best, highest = f, score
		}
	}
	return best
}
