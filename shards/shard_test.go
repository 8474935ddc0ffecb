package shards

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/hdf5"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

var update = flag.Bool("update", false, "write testdata/golden.h5 anew: only for a new version of the format")

const golden = "testdata/golden.h5"

// sample is a small shard whose every value is different from its neighbours'.
type sample struct {
	config string
	nMels  int
	keys   []string
	frames []int
}

// small is the golden shard. Its configuration is fixed text, so that a new field
// of mel.Config does not change the file.
func small() sample {
	return sample{`{"name":"golden","rate":16000,"n_mels":80}`, 80,
		[]string{"0a1b", "straße-語", "no frames", "last"}, []int{7, 30, 0, 1}}
}

func (s sample) mel(row int) mel.Mel {
	m := mel.Mel{Frames: make([]uint16, s.frames[row]*s.nMels), N: s.frames[row], NMels: s.nMels, Pad: uint16(0xb000 + row)}
	for i := range m.Frames {
		m.Frames[i] = uint16(row*9973 + i*31)
	}
	return m
}

// write writes the sample in the given order of rows, each by its own goroutine
// where parallel.
func (s sample) write(t testing.TB, path string, order []int, parallel bool) manifests.Shard {
	t.Helper()
	w, err := create(path, s.config, s.nMels, s.keys, s.frames)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, row := range order {
		put := func() {
			if err := w.Put(row, s.mel(row)); err != nil {
				t.Error(err)
			}
		}
		if parallel {
			wg.Go(put)
		} else {
			put()
		}
	}
	wg.Wait()
	got, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (s sample) check(t *testing.T, r *Reader) {
	t.Helper()
	if fmt.Sprint(r.Keys()) != fmt.Sprint(s.keys) || r.Len() != len(s.keys) || r.Config().NMels != s.nMels {
		t.Fatalf("keys %q, %d clips, config %+v", r.Keys(), r.Len(), r.Config())
	}
	var buf []uint16
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

func rows(n int) []int { return rand.Perm(n) }

func TestRoundTrip(t *testing.T) {
	many := sample{config: `{"name":"many","n_mels":3}`, nMels: 3}
	for i := range 3000 {
		many.keys = append(many.keys, fmt.Sprintf("%064x", i*i)+strings.Repeat("x", i%200))
		many.frames = append(many.frames, i%5)
	}
	long := small()
	long.keys[1] = strings.Repeat("語", 40_000)
	for name, s := range map[string]sample{
		"small": small(), "many": many, "long key": long,
		"one":      {`{"n_mels":1}`, 1, []string{"k"}, []int{1}},
		"empty":    {`{"n_mels":80}`, 80, []string{"a", "b"}, []int{0, 0}},
		"page":     {`{"n_mels":128}`, 128, []string{"k"}, []int{16}},
		"one clip": {`{"n_mels":80}`, 80, []string{"k"}, []int{3000}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.h5")
			record := s.write(t, path, rows(len(s.keys)), true)
			r := open(t, path)
			s.check(t, r)
			if record.MelOffset%alignment != 0 || record.MelOffset != r.MelOffset() {
				t.Errorf("frames at %d, recorded %d", r.MelOffset(), record.MelOffset)
			}
			if err := Check(path, record); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(commit.Temp(path)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("temporary file: %v", err)
			}
		})
	}
}

func TestCreateStoresConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	want := mel.Config{Name: "whisper-80", Rate: 16000, NMels: 2}
	w, err := Create(path, want, []string{"k"}, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(0, mel.Mel{NMels: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(open(t, path).Config())
	if !bytes.Equal(a, b) {
		t.Fatalf("got %s, want %s", b, a)
	}
}

// TestGolden holds the bytes: they depend on nothing but the input. The golden
// file was written by another process at another time.
func TestGolden(t *testing.T) {
	s := small()
	if *update {
		s.write(t, golden, []int{0, 1, 2, 3}, false)
	}
	s.check(t, open(t, golden))
	v, err := hdf5.LibVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v.Major != 1 || v.Minor != 10 {
		t.Skipf("golden bytes are those of libhdf5 1.10; this is %v", v)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 20 {
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", i))
		s.write(t, path, rows(4), i%2 == 0)
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("the bytes of shard %d differ from the golden ones", i)
		}
	}
}

// TestLibraryReadsTheSame is the twin of Reader.Read: libhdf5 reads every row.
func TestLibraryReadsTheSame(t *testing.T) {
	f, err := hdf5.OpenFile(golden, hdf5.F_ACC_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.OpenDataset("mel")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := open(t, golden)
	if offsetOf(d) != r.MelOffset() {
		t.Errorf("offset %d, libhdf5 says %d", r.MelOffset(), offsetOf(d))
	}
	first := uint(0)
	for row := range r.Len() {
		m, err := r.Read(row)
		if err != nil {
			t.Fatal(err)
		}
		if m.N == 0 {
			continue
		}
		count := []uint{uint(m.N), uint(m.NMels)}
		space := d.Space()
		defer space.Close()
		memory, err := hdf5.CreateSimpleDataspace(count, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		if err := space.SelectHyperslab([]uint{first, 0}, nil, count, nil); err != nil {
			t.Fatal(err)
		}
		got := make([]uint16, len(m.Frames))
		if err := d.ReadSubset(&got, memory, space); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytesOf(got), bytesOf(m.Frames)) {
			t.Errorf("row %d differs", row)
		}
		first += count[0]
	}
}
