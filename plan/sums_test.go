package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/highwayhash"

	"github.com/melforge/melforge/manifests"
)

// later is a memory whose clock is an hour ahead, so that files count as settled.
func later(t *testing.T, path string) *sums {
	t.Helper()
	s := loadSums(path)
	s.now = func() time.Time { return time.Now().Add(time.Hour) }
	return s
}

// contents are the hashes of texts. They are part of every key of a wav that was
// given, so they must stay what they are.
var contents = map[string]sum{
	"one":   fromHex("17cef257a068091626af917b0804bb06fde893099aff8a2d07dbb27f425b74bb"),
	"two":   fromHex("6f560cd87c6dc9f1cadec8d1273e4145154cb04188ec4faae7c7dc3e488758d5"),
	"new":   fromHex("56263cffb4f0a40074d805939400cccc22250f8b9a25ceab9ee8af4611c6ecab"),
	"a lie": {1, 2, 3},
}

func fromHex(s string) sum {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return sum(b)
}

func TestSumsRemember(t *testing.T) {
	dir := t.TempDir()
	memory, file := filepath.Join(dir, "sums"), filepath.Join(dir, "a.wav")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(s *sums, text string) {
		t.Helper()
		if got, err := s.file(file); err != nil || got != contents[text] {
			t.Errorf("%s: %x, %v", text, got, err)
		}
		if _, err := s.file(filepath.Join(dir, "gone")); err == nil {
			t.Error("a file that is not there has a hash")
		}
	}
	write("one")
	s := later(t, memory)
	want(s, "one")
	if err := s.save(memory); err != nil {
		t.Fatal(err)
	}
	// What is remembered is not read: a lie in the memory shows.
	s = later(t, memory)
	if len(s.known) != 1 {
		t.Fatalf("%d are known", len(s.known))
	}
	for k := range s.known {
		s.known[k] = contents["a lie"]
	}
	want(s, "a lie")
	// Another content of the same length and time of change is seen all the same.
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := os.Chtimes(file, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if inode(st) != "" {
		want(later(t, memory), "two")
	}
	// A file that has just changed is not trusted to stay what it is.
	s = loadSums(memory)
	write("new")
	want(s, "new")
	if len(s.current) != 0 {
		t.Error("a file that changed a moment ago is remembered")
	}
}

func TestDamagedSums(t *testing.T) {
	var b bytes.Buffer
	if err := writeSums(&b, []remembered{{manifests.NewKey("a"), sum{1}}, {manifests.NewKey("b"), sum{2}}}); err != nil {
		t.Fatal(err)
	}
	if known, err := readSums(bytes.NewReader(b.Bytes())); err != nil || len(known) != 2 || known[manifests.NewKey("b")] != (sum{2}) {
		t.Fatalf("%v, %v", known, err)
	}
	path := filepath.Join(t.TempDir(), "sums")
	for i := range b.Len() {
		bad := bytes.Clone(b.Bytes())
		bad[i] ^= 1
		for name, content := range map[string][]byte{"changed": bad, "cut": b.Bytes()[:i]} {
			if _, err := readSums(bytes.NewReader(content)); err == nil {
				t.Fatalf("%s at %d: it was believed", name, i)
			}
			if i > 0 {
				continue
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			if s := loadSums(path); len(s.known) != 0 {
				t.Errorf("%s: %d are known", name, len(s.known))
			}
		}
	}
}

func FuzzReadSums(f *testing.F) {
	var b bytes.Buffer
	if err := writeSums(&b, []remembered{{manifests.NewKey("a"), sum{1}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(sumsMagic + "\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		known, err := readSums(bytes.NewReader(content))
		if err == nil && len(known) > len(content)/48 {
			t.Fatalf("%d sums in %d bytes", len(known), len(content))
		}
	})
}

// BenchmarkSum hashes what a wav of five seconds holds, and the same with SHA-256.
func BenchmarkSum(b *testing.B) {
	wav := make([]byte, 5*32000)
	for name, make := range map[string]func() (hash.Hash, error){
		"HighwayHash": func() (hash.Hash, error) { return highwayhash.New(sumKey) },
		"SHA-256":     func() (hash.Hash, error) { return sha256.New(), nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(wav)))
			for b.Loop() {
				h, err := make()
				if err != nil {
					b.Fatal(err)
				}
				h.Write(wav)
				h.Sum(nil)
			}
		})
	}
}
