package audio

import (
	"slices"
	"testing"
)

// FuzzDecodeWAV holds that no input panics, that none yields more samples than
// it has bytes, and that what was decoded survives being written.
func FuzzDecodeWAV(f *testing.F) {
	mono := riff(chunk("fmt ", fmtBody(1, 1, 16000, 16)), chunk("data", le(2, 1, -2, 3)))
	f.Add(mono)
	f.Add(claim(mono, 0x7ffff024, 0x7ffff000))
	f.Add(claim(mono, 36, 0))
	f.Add(claim(mono, 0, 0xfffffff0))
	f.Add(riff(chunk("LIST", []byte("odd")), chunk("fmt ", fmtBody(1, 2, 8000, 8)), chunk("data", []byte{1, 2, 3, 4})))
	f.Add(riff(chunk("fmt ", fmtBody(1, 1, 48000, 24)), chunk("data", le(3, 1, 2, 3))))
	f.Add(riff(chunk("fmt ", extensible(1, 1, 48000, 32)), chunk("data", le(4, 1<<20, -1<<20))))
	f.Add(riff(chunk("fmt ", extensible(3, 2, 48000, 32)), chunk("data", floats(0.5, -0.25))))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := DecodeWAV(data)
		if err != nil {
			return
		}
		if len(p.Samples) > len(data) || p.Rate < minRate || p.Rate > maxRate {
			t.Fatalf("%d bytes gave %d samples at %d", len(data), len(p.Samples), p.Rate)
		}
		back, err := DecodeWAV(AppendWAV(nil, p))
		if err != nil || back.Rate != p.Rate || !slices.Equal(back.Samples, p.Samples) {
			t.Fatalf("does not survive being written: %v", err)
		}
	})
}
