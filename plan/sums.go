package plan

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/minio/highwayhash"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
)

// sum is the HighwayHash-256 of a file's content. It keeps apart whatever files a
// person has, seven times as fast as SHA-256, which would be the half of what it
// takes to plan a corpus of wavs. Against files that were made to be taken for
// one another it is no help.
type sum [highwayhash.Size]byte

// sumKey is that of the hash: not secret, and never to be changed.
var sumKey = []byte("melforge: content of a wav file.")

// sums finds the hashes of files, by reading them or by remembering. A nightly
// run would otherwise read a whole corpus of wavs to find that none is new.
//
// A file counts as the same as long as its path, size, time of change and
// number (on systems that have one) are. One that changed shortly before it was
// read is read again the next time: it could change once more without its time
// showing it.
type sums struct {
	known   map[manifests.Key]sum // of the runs before, by what identifies a file
	mu      sync.Mutex
	current []remembered // of this run, in no order
	fresh   bool         // some of these were not known
	buffers sync.Pool
	now     func() time.Time
}

// remembered is one line of the file of sums.
type remembered struct {
	File manifests.Key
	Sum  sum
}

// settled is how long a file must have been left alone: more than the steps in
// which any file system counts time.
const settled = 3 * time.Second

// sumsMagic opens the file of sums; its last byte is its version.
const sumsMagic = "mfsums\x00\x02"

// loadSums reads what earlier runs knew. It is only a memory: where it is
// damaged or missing, every file is read.
func loadSums(path string) *sums {
	s := &sums{known: map[manifests.Key]sum{}, now: time.Now}
	s.buffers.New = func() any { b := make([]byte, 1<<18); return &b }
	f, err := os.Open(path)
	if err != nil {
		return s
	}
	defer f.Close()
	known, err := readSums(bufio.NewReaderSize(f, 1<<20))
	if err == nil {
		s.known = known
	}
	return s
}

// readSums reads what writeSums wrote. The hash at the end covers it all.
func readSums(r io.Reader) (map[manifests.Key]sum, error) {
	h := sha256.New()
	r = io.TeeReader(r, h)
	var head [len(sumsMagic) + 8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if string(head[:len(sumsMagic)]) != sumsMagic {
		return nil, errors.New("not a file of sums")
	}
	known := map[manifests.Key]sum{}
	for range binary.LittleEndian.Uint64(head[len(sumsMagic):]) {
		var e remembered
		if _, err := io.ReadFull(r, e.File[:]); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(r, e.Sum[:]); err != nil {
			return nil, err
		}
		known[e.File] = e.Sum
	}
	want := h.Sum(nil)
	var got sum
	if _, err := io.ReadFull(r, got[:]); err != nil {
		return nil, err
	}
	if sum(want) != got {
		return nil, errors.New("damaged")
	}
	return known, nil
}

// save writes what this run knows for the next.
func (s *sums) save(path string) error {
	if !s.fresh && len(s.current) == len(s.known) {
		return nil
	}
	return commit.File("sums", path, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		if err := writeSums(b, s.current); err != nil {
			return err
		}
		return b.Flush()
	})
}

func writeSums(w io.Writer, entries []remembered) error {
	h := sha256.New()
	out := io.MultiWriter(w, h)
	head := binary.LittleEndian.AppendUint64([]byte(sumsMagic), uint64(len(entries)))
	if _, err := out.Write(head); err != nil {
		return err
	}
	for i := range entries {
		if _, err := out.Write(append(entries[i].File[:len(entries[i].File):len(entries[i].File)], entries[i].Sum[:]...)); err != nil {
			return err
		}
	}
	_, err := w.Write(h.Sum(nil))
	return err
}

// file is the hash of one file.
func (s *sums) file(path string) (sum, error) {
	f, err := os.Open(path)
	if err != nil {
		return sum{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return sum{}, err
	}
	if !info.Mode().IsRegular() {
		return sum{}, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	identity := manifests.NewKey(path, fmt.Sprint(info.Size()), fmt.Sprint(info.ModTime().UnixNano()), inode(info))
	if v, ok := s.known[identity]; ok {
		s.remember(identity, v, false)
		return v, nil
	}
	buf := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buf)
	h, err := highwayhash.New(sumKey)
	if err != nil {
		return sum{}, err
	}
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, *buf); err != nil {
		return sum{}, err
	}
	v := sum(h.Sum(nil))
	if s.now().Sub(changed(info)) > settled {
		s.remember(identity, v, true)
	}
	return v, nil
}

func (s *sums) remember(file manifests.Key, v sum, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = s.fresh || fresh
	s.current = append(s.current, remembered{file, v})
}

// hashed is a file's hash, or why there is none.
type hashed struct {
	sum sum
	err error
}
