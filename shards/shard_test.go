//go:build cgo && linux && !nohdf5

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

var update = flag.Bool("update", false, "write the golden shards anew: only for a new version of the format")

func (s sample) create(path string) (*Writer, error) {
	return create(path, layout{config: s.config, nMels: s.nMels, keys: s.keys, padded: s.padded, texts: s.texts}, s.frames)
}

// write writes the sample in the given order of rows, each by its own goroutine
// where parallel.
func (s sample) write(t testing.TB, path string, order []int, parallel bool) manifests.Shard {
	t.Helper()
	w, err := s.create(path)
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

func anyOrder(n int) []int { return rand.Perm(n) }

func TestRoundTrip(t *testing.T) {
	many := sample{config: `{"name":"many","n_mels":3}`, nMels: 3}
	for i := range 3000 {
		many.keys = append(many.keys, fmt.Sprintf("%064x", i*i)+strings.Repeat("x", i%200))
		many.frames = append(many.frames, i%5)
	}
	long := small()
	long.keys[1] = strings.Repeat("語", 40_000)
	for name, s := range map[string]sample{
		"small": small(), "many": many, "long key": long, "padded": smallPadded(),
		"one":      {config: `{"n_mels":1}`, nMels: 1, keys: []string{"k"}, frames: []int{1}},
		"empty":    {config: `{"n_mels":80}`, nMels: 80, keys: []string{"a", "b"}, frames: []int{0, 0}},
		"page":     {config: `{"n_mels":128}`, nMels: 128, keys: []string{"k"}, frames: []int{16}},
		"one clip": {config: `{"n_mels":80}`, nMels: 80, keys: []string{"k"}, frames: []int{3000}},
		"padded empty": {config: `{"n_mels":80}`, nMels: 80, keys: []string{"a", "b"}, frames: []int{0, 0},
			padded: 3000, texts: []string{"", strings.Repeat("語", 40_000)}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.h5")
			record := s.write(t, path, anyOrder(len(s.keys)), true)
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

func TestCreatePadded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	cfg, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	w, err := CreatePadded(path, cfg, []string{"k"}, []string{"Hello."}, []int{2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Put(0, mel.Mel{Frames: make([]uint16, 160), N: 2, NMels: 80, Pad: 0xb800}); err != nil {
		t.Fatal(err)
	}
	record, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if r.PaddedFrames() != 3000 || r.Config() != cfg || r.Texts()[0] != "Hello." || r.Layout() != manifests.Padded {
		t.Errorf("%d frames, texts %q, layout %s", r.PaddedFrames(), r.Texts(), r.Layout())
	}
	if record.Layout != manifests.Padded || record.PaddedFrames != 3000 || record.Frames != 2 || record.Bytes != record.MelOffset+80*3000*2 {
		t.Errorf("record %+v", record)
	}
	cfg.Framing = mel.FramingCentre
	if _, err := CreatePadded(path, cfg, []string{"k"}, []string{""}, []int{2}); err == nil || !strings.Contains(err.Error(), "no fixed length") {
		t.Errorf("clips of no fixed length: %v", err)
	}
}

// TestGolden holds the bytes: they depend on nothing but the input.
func TestGolden(t *testing.T) {
	v, err := hdf5.LibVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v.Major != 1 || v.Minor != 10 {
		t.Skipf("golden bytes are those of libhdf5 1.10; this is %v", v)
	}
	dir := t.TempDir()
	for file, s := range goldens() {
		if *update {
			s.write(t, file, []int{0, 1, 2, 3}, false)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			path := filepath.Join(dir, fmt.Sprintf("%d.h5", i))
			s.write(t, path, anyOrder(4), i%2 == 0)
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("the bytes of shard %d differ from those of %s", i, file)
			}
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
