package audio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.wav")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// sameAsDecoded holds what is read from the file at path to what is decoded
// from its content: the same sound, or the same error after the file's name.
func sameAsDecoded(t *testing.T, path string, content []byte) {
	t.Helper()
	want, wantErr := DecodeWAV(content)
	got, err := ReadWAV(path)
	if wantErr != nil {
		if err == nil || err.Error() != path+": "+wantErr.Error() {
			t.Fatalf("got %v, want %s: %v", err, path, wantErr)
		}
		return
	}
	if err != nil || got.Rate != want.Rate || !slices.Equal(got.Samples, want.Samples) {
		t.Fatalf("got %d samples at %d and %v, want %d at %d", len(got.Samples), got.Rate, err, len(want.Samples), want.Rate)
	}
}

func TestFile(t *testing.T) {
	long := chunk("LIST", make([]byte, 5000)) // more than is read at once
	for name, tc := range map[string]struct {
		file   []byte
		direct bool
	}{
		"canonical":     {AppendWAV(nil, PCM{Rate: 16000, Samples: noise(1000)}), true},
		"followed":      {append(AppendWAV(nil, PCM{Rate: 16000, Samples: noise(100)}), "and more"...), true},
		"empty":         {AppendWAV(nil, PCM{Rate: 16000}), true},
		"extensible":    {riff(chunk("fmt ", extensible(1, 1, 16000, 16)), chunk("data", le(2, 7, 8))), true},
		"far away":      {riff(long, chunk("fmt ", fmtBody(1, 1, 8000, 16)), long, chunk("data", le(2, 7, 8))), true},
		"stereo":        {riff(chunk("fmt ", fmtBody(1, 2, 8000, 16)), chunk("data", le(2, 7, 8))), false},
		"24 bits":       {riff(chunk("fmt ", fmtBody(1, 1, 8000, 24)), chunk("data", le(3, 700, 800))), false},
		"float":         {riff(chunk("fmt ", fmtBody(3, 1, 8000, 32)), chunk("data", floats(0.5, 0.25))), false},
		"espeak's pipe": {claim(AppendWAV(nil, PCM{Rate: 22050, Samples: noise(9)}), 0x7ffff024, 0x7ffff000), true},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, tc.file)
			sameAsDecoded(t, path, tc.file)
			f, err := OpenWAV(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.Prefetch()
			checkParts(t, f, tc.file)
			if f.Direct() != tc.direct {
				t.Errorf("direct: %v", f.Direct())
			}
			err = f.ReadInto(make([]int16, f.Samples()+1))
			if want := fmt.Sprintf("%s: room for %d samples, but there are %d", path, f.Samples()+1, f.Samples()); err == nil || err.Error() != want {
				t.Errorf("too much room: %v", err)
			}
		})
	}
}

// checkParts holds that a file can be read in parts and copied, with and without
// its samples, also where something follows them.
func checkParts(t *testing.T, f *File, content []byte) {
	t.Helper()
	whole := make([]int16, f.Samples())
	if err := f.ReadInto(whole); err != nil {
		t.Fatal(err)
	}
	for from := range len(whole) + 1 {
		part := make([]int16, (len(whole)-from+1)/2)
		if err := f.ReadPart(part, from); err != nil || !slices.Equal(part, whole[from:][:len(part)]) {
			t.Fatalf("%d samples from %d on: %v, %v", len(part), from, part, err)
		}
	}
	for _, from := range []int{-1, len(whole)} {
		if err := f.ReadPart(make([]int16, 1), from); err == nil || !strings.Contains(err.Error(), "but there are") {
			t.Errorf("a sample at %d: %v", from, err)
		}
	}
	for _, samples := range [][]int16{whole, nil} {
		var b bytes.Buffer
		if n, err := f.CopyTo(&b, samples); err != nil || n != int64(len(content)) || !bytes.Equal(b.Bytes(), content) {
			t.Errorf("copied %d of %d bytes, or others; %v", n, len(content), err)
		}
	}
}

func TestFileShrinks(t *testing.T) {
	for _, bits := range []int{16, 24} {
		path := write(t, riff(chunk("fmt ", fmtBody(1, 1, 8000, bits)), chunk("data", make([]byte, 600))))
		f, err := OpenWAV(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
		err = f.ReadInto(make([]int16, f.Samples()))
		if err == nil || !strings.HasPrefix(err.Error(), path+": truncated: expected 600 bytes of data, found 56") {
			t.Errorf("%d bits: %v", bits, err)
		}
		if _, err := f.CopyTo(io.Discard, make([]int16, f.Samples())); err == nil {
			t.Errorf("%d bits: a file that shrank was copied", bits)
		}
	}
}

func TestOpenWAVRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenWAV(dir); err == nil || !strings.Contains(err.Error(), dir+": not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// FuzzOpenWAV holds that a file gives what its content does.
func FuzzOpenWAV(f *testing.F) {
	mono := AppendWAV(nil, PCM{Rate: 16000, Samples: noise(5)})
	f.Add(mono)
	f.Add(mono[:40])
	f.Add(mono[:50])
	f.Add(append(AppendWAV(nil, PCM{Rate: 16000}), "more"...))
	f.Add(claim(mono, 0x7ffff024, 0x7ffff000))
	f.Add(riff(chunk("LIST", make([]byte, 300)), chunk("fmt ", fmtBody(1, 2, 8000, 8)), chunk("data", []byte{1, 2, 3, 4})))
	path := filepath.Join(f.TempDir(), "fuzz.wav")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		sameAsDecoded(t, path, content)
	})
}

// BenchmarkReadWAV reads 5 s and 30 s from the page cache: with plain open(2),
// fstat(2), read(2) and close(2), with ReadInto, and by way of memory.
func BenchmarkReadWAV(b *testing.B) {
	for _, seconds := range []int{5, 30} {
		p := PCM{Rate: 16000, Samples: noise(seconds * 16000)}
		path := write(b, AppendWAV(nil, p))
		run := func(name string, read func() error) {
			b.Run(fmt.Sprintf("%ds/%s", seconds, name), func(b *testing.B) {
				b.SetBytes(int64(headerSize + 2*len(p.Samples)))
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		raw := make([]byte, headerSize+2*len(p.Samples))
		run("read", func() error {
			f, err := openHandle(path)
			if err != nil {
				return err
			}
			defer f.Close()
			size, err := f.size()
			if err != nil {
				return err
			}
			_, err = f.ReadAt(raw[:size], 0)
			return err
		})
		room := make([]int16, headerSize/2+len(p.Samples))[headerSize/2:]
		run("ReadInto", func() error {
			f, err := OpenWAV(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.ReadInto(room)
		})
		run("DecodeWAV", func() error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_, err = DecodeWAV(content)
			return err
		})
	}
}
