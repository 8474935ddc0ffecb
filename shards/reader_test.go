package shards

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// TestGoldenReads is all that a build without cgo can test, and all it needs.
func TestGoldenReads(t *testing.T) {
	for file, s := range goldens() {
		s.check(t, open(t, file))
	}
}

func goldenBytes(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newReader opens a shard in memory.
func newReader(b []byte) (*Reader, error) {
	r := &Reader{path: "memory", s: source{bytes.NewReader(b), int64(len(b))}}
	return r, r.open()
}

// TestEveryByte damages each byte in turn. What can still be opened can be read.
func TestEveryByte(t *testing.T) {
	for file, s := range goldens() {
		b := goldenBytes(t, file)
		for i := range b {
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				b[i] ^= flip
				if r, err := newReader(b); err == nil {
					for row := range s.keys {
						if m, err := r.Read(row); err != nil || m.NMels != s.nMels || len(m.Frames) != m.N*m.NMels {
							t.Fatalf("%s: byte %d: row %d: %v", file, i, row, err)
						}
					}
				}
				b[i] ^= flip
			}
		}
	}
}

// reseal corrects the checksums of damaged metadata, to let damage through to
// the code behind them.
func reseal(b []byte) []byte {
	seal := func(from, to int) {
		if from < to && to+4 <= len(b) {
			binary.LittleEndian.PutUint32(b[to:], lookup3(b[from:to]))
		}
	}
	seal(0, 44)
	for at := 0; at+16 < len(b); at++ {
		if string(b[at:at+4]) == "OHDR" && b[at+5]&0x33 < 2 { // no times, sizes of one or two bytes
			width := 1 << (b[at+5] & 3)
			size := int((&fields{b: b[at+6:]}).uint(width))
			seal(at, at+6+width+size)
		}
	}
	return b
}

func FuzzOpen(f *testing.F) {
	for file := range goldens() {
		b := goldenBytes(f, file)
		f.Add(b, true)
		f.Add(b, false)
		f.Add(b[:100], false)
		for _, i := range []int{9, 12, 36, 200, 4100, 4200} {
			damaged := bytes.Clone(b)
			damaged[i] ^= 0xff
			f.Add(damaged, true)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed && len(data) >= 48 {
			data = reseal(bytes.Clone(data))
		}
		r, err := newReader(data)
		if err != nil {
			return
		}
		if r.Len() != len(r.Keys()) {
			t.Fatalf("%d clips, %d keys", r.Len(), len(r.Keys()))
		}
		for row := range r.Len() {
			if m, err := r.Read(row); err != nil || len(m.Frames) != r.Frames(row)*r.Config().NMels {
				t.Fatalf("an opened shard does not read: row %d: %v", row, err)
			}
		}
	})
}

// FuzzEdit damages a golden shard in two places: deeper than FuzzOpen gets by
// mutating the whole file.
func FuzzEdit(f *testing.F) {
	packed, padded := goldenBytes(f, golden), goldenBytes(f, goldenPadded)
	for _, p := range []bool{false, true} {
		f.Add(p, uint16(12), uint64(1), uint16(300), uint64(0xffff))
		f.Add(p, uint16(4096+8), uint64(1)<<40, uint16(60), uint64(1))
	}
	f.Fuzz(func(t *testing.T, p bool, i uint16, x uint64, j uint16, y uint64) {
		data := bytes.Clone(packed)
		if p {
			data = bytes.Clone(padded)
		}
		for _, e := range []struct {
			at   uint16
			flip uint64
		}{{i, x}, {j, y}} {
			p := data[int(e.at)%(len(data)-8):]
			binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^e.flip)
		}
		r, err := newReader(reseal(data))
		if err != nil {
			return
		}
		for row := range r.Len() {
			if _, err := r.Read(row); err != nil {
				t.Fatalf("an opened shard does not read: row %d: %v", row, err)
			}
		}
	})
}

func TestReadRefuses(t *testing.T) {
	r := open(t, golden)
	for _, row := range []int{-1, 4} {
		if _, err := r.Read(row); err == nil || !strings.Contains(err.Error(), golden) {
			t.Errorf("row %d: %v", row, err)
		}
	}
}
