//go:build cgo && linux && !nohdf5

package shards

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/hdf5"

	"github.com/melforge/melforge/manifests"
)

// edited is a copy of a golden shard after libhdf5 has changed a root attribute.
func edited(t *testing.T, file string, edit func(root *hdf5.Group) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edited.h5")
	if err := os.WriteFile(path, goldenBytes(t, file), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.OpenFile(path, hdf5.F_ACC_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	root, err := f.OpenGroup("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := edit(root); err != nil {
		t.Fatal(err)
	}
	root.Close()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func setText(name, value string) func(*hdf5.Group) error {
	return func(root *hdf5.Group) error {
		text, err := utf8Text()
		if err != nil {
			return err
		}
		defer text.Close()
		a, err := root.OpenAttribute(name)
		if err != nil {
			return err
		}
		defer a.Close()
		return a.Write(&value, text)
	}
}

func setVersion(v int64) func(*hdf5.Group) error {
	return func(root *hdf5.Group) error {
		a, err := root.OpenAttribute("version")
		if err != nil {
			return err
		}
		defer a.Close()
		return a.Write(&v, hdf5.T_NATIVE_INT64)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.h5")
	f, err := hdf5.CreateFile(other, hdf5.F_ACC_TRUNC)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	b := goldenBytes(t, golden)
	open := bytes.Clone(b)
	open[11] = 5 // what a writer that died leaves
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none.h5"), "no such file"},
		{"folder", dir, "not a regular file"},
		{"empty", write("empty.h5", nil), "not an HDF5 file"},
		{"text", write("text.h5", []byte(strings.Repeat("hello ", 100))), "not an HDF5 file"},
		{"magic", write("magic.h5", append([]byte("\x88"), b[1:]...)), "not an HDF5 file"},
		{"half", write("half.h5", b[:len(b)/2]), "truncated"},
		{"a byte less", write("less.h5", b[:len(b)-1]), "truncated"},
		{"a byte more", write("more.h5", append(bytes.Clone(b), 0)), "damaged"},
		{"open", write("open.h5", reseal(open)), "its writer died"},
		{"other HDF5", other, "superblock version 0"},
		{"version 3", edited(t, golden, setVersion(3)), "version 3 of the format is unknown"},
		{"version 0", edited(t, golden, setVersion(0)), "version 0 of the format is unknown"},
		{"packed as version 2", edited(t, golden, setVersion(2)), `no attribute "layout"`},
		{"padded as version 1", edited(t, goldenPadded, setVersion(1)), `no dataset "offsets"`},
		{"other layout", edited(t, goldenPadded, setText("layout", "folded")), `its layout is "folded"`},
		{"other format", edited(t, golden, setText("format", "spam")), `its format is "spam"`},
		{"no config", edited(t, golden, setText("mel", "{")), "mel configuration"},
		{"other config", edited(t, golden, setText("mel", `{"n_mels":81}`)), "has 81"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Fatalf("got %v, want %q and the path", err, c.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	s := small()
	record := s.write(t, path, anyOrder(4), false)
	if record.File != "a.h5" || record.Clips != 4 || record.Frames != 38 || record.NMels != 80 || len(record.CRC32C) != 8 {
		t.Fatalf("record %+v", record)
	}
	for _, c := range []struct {
		want   string
		change func(*manifests.Shard)
	}{
		{"bytes, want", func(s *manifests.Shard) { s.Bytes++ }},
		{"crc32c", func(s *manifests.Shard) { s.CRC32C = "00000000" }},
		{"4 clips, want 5", func(s *manifests.Shard) { s.Clips++ }},
		{"38 frames, want 37", func(s *manifests.Shard) { s.Frames-- }},
		{"80 values", func(s *manifests.Shard) { s.NMels = 128 }},
		{"it is packed, want padded", func(s *manifests.Shard) { s.Layout = manifests.Padded }},
		{"0 frames in a padded clip, want 3000", func(s *manifests.Shard) { s.PaddedFrames = 3000 }},
		{"offset of the frames", func(s *manifests.Shard) { s.MelOffset = 0 }},
	} {
		wrong := record
		c.change(&wrong)
		if err := Check(path, wrong); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1 // a value that HDF5 itself does not protect
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Check(path, record); err == nil || !strings.Contains(err.Error(), "crc32c") {
		t.Errorf("a flipped bit: %v", err)
	}
	if err := Check(path+".none", record); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
