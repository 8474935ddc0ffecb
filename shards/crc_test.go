package shards

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestCRCJoin cuts data in two and puts their sums together.
func TestCRCJoin(t *testing.T) {
	data := make([]byte, 70_001)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	want := crc32.Checksum(data, castagnoli)
	for _, cut := range []int{0, 1, 2, 3, 4, 7, 8, 255, 256, 65_535, 65_536, 70_000, 70_001} {
		first, second := data[:cut], data[cut:]
		got := crcJoin(crc32.Checksum(first, castagnoli), crc32.Checksum(second, castagnoli), int64(len(second)))
		if got != want {
			t.Errorf("cut at %d: %08x, want %08x", cut, got, want)
		}
	}
}

func FuzzCRCJoin(f *testing.F) {
	f.Add([]byte("12345"), []byte("6789"))
	f.Add([]byte(nil), []byte{0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		got := crcJoin(crc32.Checksum(a, castagnoli), crc32.Checksum(b, castagnoli), int64(len(b)))
		if want := crc32.Update(crc32.Checksum(a, castagnoli), castagnoli, b); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}
