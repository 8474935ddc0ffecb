package shards

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/hdf5"

	"github.com/melforge/melforge/manifests"
)

func goldenBytes(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// edited is a copy of the golden shard after libhdf5 has changed a root attribute.
func edited(t *testing.T, edit func(root *hdf5.Group) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edited.h5")
	if err := os.WriteFile(path, goldenBytes(t), 0o666); err != nil {
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
	b := goldenBytes(t)
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
		{"version 2", edited(t, setVersion(2)), "version 2 of the format is unknown"},
		{"other format", edited(t, setText("format", "spam")), `its format is "spam"`},
		{"no config", edited(t, setText("mel", "{")), "mel configuration"},
		{"other config", edited(t, setText("mel", `{"n_mels":81}`)), "has 81"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Fatalf("got %v, want %q and the path", err, c.want)
			}
		})
	}
}

// newReader opens a shard in memory.
func newReader(b []byte) (*Reader, error) {
	r := &Reader{path: "memory", s: source{bytes.NewReader(b), int64(len(b))}}
	return r, r.open()
}

// TestEveryByte damages each byte in turn. What can still be opened can be read.
func TestEveryByte(t *testing.T) {
	b := goldenBytes(t)
	s := small()
	for i := range b {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			b[i] ^= flip
			if r, err := newReader(b); err == nil {
				for row := range s.keys {
					if m, err := r.Read(row); err != nil || m.NMels != s.nMels || len(m.Frames) != m.N*m.NMels {
						t.Fatalf("byte %d: row %d: %v", i, row, err)
					}
				}
			}
			b[i] ^= flip
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
	b := goldenBytes(f)
	f.Add(b, true)
	f.Add(b, false)
	f.Add(b[:100], false)
	for _, i := range []int{9, 12, 36, 200, 4100, 4200} {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0xff
		f.Add(damaged, true)
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

// FuzzEdit damages the golden shard in two places: deeper than FuzzOpen gets by
// mutating the whole file.
func FuzzEdit(f *testing.F) {
	b := goldenBytes(f)
	f.Add(uint16(12), uint64(1), uint16(300), uint64(0xffff))
	f.Add(uint16(4096+8), uint64(1)<<40, uint16(60), uint64(1))
	f.Fuzz(func(t *testing.T, i uint16, x uint64, j uint16, y uint64) {
		data := bytes.Clone(b)
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

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	s := small()
	record := s.write(t, path, rows(4), false)
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
