//go:build cgo && linux && !nohdf5

package shards

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/mel"
)

// everyPattern writes a shard with all 65536 FP16 values, NaNs included; padded
// to so many frames, or packed where that is 0.
func everyPattern(t *testing.T, padded int) (path string, offset int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "patterns.h5")
	s := sample{
		config: `{"name":"patterns","n_mels":128}`, nMels: 128, padded: padded,
		keys: []string{"first", "straße-語", strings.Repeat("x", 5000)}, frames: []int{200, 0, 312},
	}
	if padded > 0 {
		s.texts = []string{"Hello.", "", strings.Repeat("語", 5000)}
	}
	w, err := s.create(path)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for row, n := range s.frames {
		m := mel.Mel{Frames: make([]uint16, n*128), N: n, NMels: 128, Pad: []uint16{0xb800, 0x7e01, 0x0001}[row]}
		for i := range m.Frames {
			m.Frames[i] = uint16(next)
			next++
		}
		if err := w.Put(row, m); err != nil {
			t.Fatal(err)
		}
	}
	record, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return path, record.MelOffset
}

// TestH5py reads a shard as users of PyTorch do. MELFORGE_PYTHON may name an
// interpreter that has h5py.
func TestH5py(t *testing.T) {
	python := cmp.Or(os.Getenv("MELFORGE_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import h5py, numpy").CombinedOutput(); err != nil {
		t.Skipf("%s has no h5py: %v\n%s", python, err, out)
	}
	for _, padded := range []int{0, 400} {
		path, offset := everyPattern(t, padded)
		out, err := exec.Command(python, "testdata/h5py_read.py", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if want := fmt.Sprintf("%s offset %d", layoutName(padded), offset); strings.TrimSpace(string(out)) != want {
			t.Errorf("h5py says %q, want %q", out, want)
		}
	}
}

// TestTools reads a shard with HDF5's own programs.
func TestTools(t *testing.T) {
	path, _ := everyPattern(t, 0)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"h5ls", "-v", path}, []string{"{512/512, 128/128}", "16-bit little-endian floating-point", "UTF-8 string"}},
		{[]string{"h5dump", "-d", "offsets", path}, []string{"H5T_STD_U64LE", "0, 200, 200, 512"}},
		{[]string{"h5dump", "-a", "format", path}, []string{`"melforge-shard"`}},
		{[]string{"h5dump", "-d", "mel", "-s", "120,0", "-c", "1,1", path}, []string{"(120,0): 1"}},
	} {
		if _, err := exec.LookPath(c.args[0]); err != nil {
			t.Skipf("%s is missing: install hdf5-tools", c.args[0])
		}
		out, err := exec.Command(c.args[0], c.args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", c.args, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q: no %q in\n%s", c.args, want, out)
			}
		}
	}
}
