package shards

import (
	"slices"
	"testing"

	"github.com/melforge/melforge/mel"
)

// FuzzPad compares pad with mel.Mel.Padded, which it is faster than, wants all
// beyond its end untouched, and takes the frames out again.
func FuzzPad(f *testing.F) {
	for _, n := range []uint16{0, 1, tile - 1, tile, tile + 1, 2*tile + 5} {
		f.Add(n, uint16(0), uint8(3), uint16(0x3c00))
		f.Add(n, uint16(77), uint8(80), uint16(0xb800))
	}
	f.Fuzz(func(t *testing.T, n, more uint16, mels uint8, value uint16) {
		m := mel.Mel{N: int(n % 500), NMels: int(mels), Pad: value}
		m.Frames = make([]uint16, m.N*m.NMels)
		for i := range m.Frames {
			m.Frames[i] = uint16(i*31) ^ value
		}
		frames := m.N + int(more%500)
		size := m.NMels * frames
		got := slices.Repeat([]uint16{0xabcd}, size+64)
		pad(got[:size], m, frames)
		if !slices.Equal(got[:size], m.Padded(nil, frames)) {
			t.Fatalf("%d of %d frames, %d mels: not as the twin", m.N, frames, m.NMels)
		}
		if slices.ContainsFunc(got[size:], func(v uint16) bool { return v != 0xabcd }) {
			t.Fatal("written beyond the end")
		}
		back := m
		back.Frames = make([]uint16, len(m.Frames))
		unpad(back, got[:size], frames)
		if !slices.Equal(back.Frames, m.Frames) {
			t.Fatal("not the same again")
		}
	})
}
