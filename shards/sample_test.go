package shards

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// Shards that were written by another process at another time.
const (
	golden       = "testdata/golden.h5"
	goldenPadded = "testdata/padded.h5"
)

// goldens says what is in them.
func goldens() map[string]sample {
	return map[string]sample{golden: small(), goldenPadded: smallPadded()}
}

// sample is a small shard whose every value is different from its neighbours'.
type sample struct {
	config string
	nMels  int
	keys   []string
	frames []int
	padded int // 0: packed
	texts  []string
}

// small is the golden shard. Its configuration is fixed text, so that a new field
// of mel.Config does not change the file.
func small() sample {
	return sample{
		config: `{"name":"golden","rate":16000,"n_mels":80}`, nMels: 80,
		keys: []string{"0a1b", "straße-語", "no frames", "last"}, frames: []int{7, 30, 0, 1},
	}
}

// smallPadded has a clip that fills its row, one that almost does, an empty one
// and an empty text.
func smallPadded() sample {
	return sample{
		config: `{"name":"padded","rate":16000,"n_mels":3}`, nMels: 3,
		keys: []string{"0a1b", "straße-語", "no frames", "last"}, frames: []int{39, 40, 0, 1},
		padded: 40, texts: []string{"Hello.", "Fünf 語", "", "x"},
	}
}

func (s sample) mel(row int) mel.Mel {
	m := mel.Mel{Frames: make([]uint16, s.frames[row]*s.nMels), N: s.frames[row], NMels: s.nMels, Pad: uint16(0xb000 + row)}
	for i := range m.Frames {
		m.Frames[i] = uint16(row*9973 + i*31)
	}
	return m
}

func (s sample) check(t *testing.T, r *Reader) {
	t.Helper()
	if fmt.Sprint(r.Keys()) != fmt.Sprint(s.keys) || r.Len() != len(s.keys) || r.Config().NMels != s.nMels {
		t.Fatalf("keys %q, %d clips, config %+v", r.Keys(), r.Len(), r.Config())
	}
	if r.PaddedFrames() != s.padded || fmt.Sprint(r.Texts()) != fmt.Sprint(s.texts) || (r.Layout() == manifests.Padded) != (s.padded > 0) {
		t.Fatalf("layout %s, %d frames, texts %q", r.Layout(), r.PaddedFrames(), r.Texts())
	}
	var buf, array []uint16
	for row := range s.keys {
		m, err := r.Read(row)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.ReadInto(row, buf)
		if err != nil || !bytes.Equal(bytesOf(again.Frames), bytesOf(m.Frames)) {
			t.Fatalf("row %d: ReadInto differs: %v", row, err)
		}
		buf = again.Frames
		want := s.mel(row)
		if m.N != want.N || m.NMels != want.NMels || m.Pad != want.Pad || r.Frames(row) != want.N ||
			!bytes.Equal(bytesOf(m.Frames), bytesOf(want.Frames)) {
			t.Fatalf("row %d differs", row)
		}
		for _, frames := range []int{s.padded, 0, 1, 39, 41} { // mel.Mel.Padded is the slow twin
			if array, err = r.ReadPadded(row, frames, array); err != nil || !slices.Equal(array, want.Padded(nil, frames)) {
				t.Fatalf("row %d: ReadPadded to %d frames differs: %v", row, frames, err)
			}
		}
	}
}

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
