package augment

import (
	"bytes"
	"encoding/binary"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the wav files in testdata again")

// The wav files in testdata are made here: noises and rooms, small and odd in
// the ways that folders of them are. Run with -update to write them.
func TestTestdata(t *testing.T) {
	made := map[string][]byte{
		"noise/hiss.wav":         wavFile(16000, 1, hiss(12000, 1, 0)),
		"noise/hum.wav":          wavFile(16000, 1, hum(8000)),
		"noise/street/pink.WAV":  wavFile(22050, 2, hiss(2*9000, 2, 0.95)),
		"rooms/small.wav":        wavFile(16000, 1, room(2400, 40, 0.03, 3)),
		"rooms/hall.wav":         wavFile(16000, 1, room(9600, 200, 0.15, 4)),
		"rooms/flipped-48k.wav":  wavFile(48000, 1, negative(room(7200, 0, 0.05, 5))),
		"broken/not-a-sound.wav": []byte("RIFF, they said"),
		"silent/zeros.wav":       wavFile(16000, 1, make([]int16, 160)),
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		path := filepath.Join("testdata", filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, made[name], 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, made[name]) {
			t.Errorf("%s is not what this test makes (%v): run it with -update", path, err)
		}
	}
}

// rng is a generator simple enough to stay the same for ever.
type rng uint64

// next is even in [-1, 1).
func (r *rng) next() float64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return float64(int32(*r>>32)) / (1 << 31)
}

// hiss is noise, the duller the nearer colour is to 1.
func hiss(n int, seed rng, colour float64) []int16 {
	out := make([]int16, n)
	var v float64
	for i := range out {
		v = colour*v + (1-colour)*seed.next()
		out[i] = int16(math.Round(8000 * v))
	}
	return out
}

func hum(n int) []int16 {
	out := make([]int16, n)
	for i := range out {
		t := float64(i) / 16000
		out[i] = int16(math.Round(4000*math.Sin(2*math.Pi*50*t) + 2000*math.Sin(2*math.Pi*150*t)))
	}
	return out
}

// room is a click after some samples of delay, and noise dying away after it.
func room(n, delay int, decay float64, seed rng) []int16 {
	out := make([]int16, n)
	for i := delay; i < n; i++ {
		out[i] = int16(math.Round(9000 * seed.next() * math.Exp(-float64(i-delay)/16000/decay)))
	}
	out[delay] = 28000
	return out
}

func negative(samples []int16) []int16 {
	for i, s := range samples {
		samples[i] = -s
	}
	return samples
}

func wavFile(rate, channels int, samples []int16) []byte {
	size := 2 * len(samples)
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+size))...)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*2))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels*2))
	b = append(b, "\x10\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	for _, s := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}
