package shards

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/melforge/melforge/mel"
)

// Reader reads the clips of one shard. It is safe for concurrent use.
type Reader struct {
	path string
	s    source
	cfg  mel.Config
	l    layout
	mel  int64 // offset of the first frame
	pad  []uint16

	close func() error
}

// Open opens a shard and checks that every clip lies within it. The frames
// themselves carry no checksum inside the file: see Check.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("shard %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("shard %s: %w", path, errors.Join(err, f.Close()))
	}
	r := &Reader{path: path, s: source{f, st.Size()}, close: f.Close}
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("shard %s: %w", path, errors.Join(err, f.Close()))
	}
	return r, nil
}

func (r *Reader) open() error {
	addr, err := r.s.root()
	if err != nil {
		return err
	}
	root, err := r.s.object(addr)
	if err != nil {
		return err
	}
	t := newTexts(r.s)
	if err := r.readAttributes(root, t); err != nil {
		return err
	}
	return r.readDatasets(root, t)
}

// readAttributes refuses other formats and versions before anything else is
// looked at: what follows may be different there.
func (r *Reader) readAttributes(root []message, t *texts) error {
	format, err := textAttribute(root, t, "format")
	if err != nil {
		return fmt.Errorf("not a %s: %w", Format, err)
	}
	if format != Format {
		return fmt.Errorf("not a %s: its format is %q", Format, format)
	}
	b, err := attribute(root, "version", kindInt64)
	if err != nil {
		return err
	}
	if len(b) < 8 {
		return errShort
	}
	if v := int64(binary.LittleEndian.Uint64(b)); v != Version {
		return fmt.Errorf("version %d of the format is unknown to this melforge, which reads version %d", v, Version)
	}
	if r.l.config, err = textAttribute(root, t, "mel"); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(r.l.config), &r.cfg); err != nil {
		return fmt.Errorf("mel configuration: %w", err)
	}
	return nil
}

func textAttribute(object []message, t *texts, name string) (string, error) {
	b, err := attribute(object, name, kindText)
	if err != nil {
		return "", err
	}
	return t.text(b)
}

func (r *Reader) readDatasets(root []message, t *texts) error {
	addrs, err := links(root)
	if err != nil {
		return err
	}
	arrays := map[string]array{}
	for _, d := range []struct {
		name string
		k    kind
		rank int
	}{
		{"offsets", kindUint64, 1}, {"keys", kindText, 1}, {"pad", kindFloat16, 1}, {"mel", kindFloat16, 2},
	} {
		addr, ok := addrs[d.name]
		if !ok {
			return fmt.Errorf("no dataset %q", d.name)
		}
		if arrays[d.name], err = r.s.newArray(addr, d.k, d.rank); err != nil {
			return fmt.Errorf("dataset %q: %w", d.name, err)
		}
	}
	n, frames := arrays["keys"].dims[0], arrays["mel"].dims
	if n == 0 || arrays["offsets"].dims[0] != n+1 || arrays["pad"].dims[0] != n {
		return fmt.Errorf("damaged: %d keys, %d offsets, %d pad values",
			n, arrays["offsets"].dims[0], arrays["pad"].dims[0])
	}
	if frames[1] < 1 || frames[1] > maxMels || frames[1] != uint64(r.cfg.NMels) {
		return fmt.Errorf("frames of %d values, but the mel configuration has %d", frames[1], r.cfg.NMels)
	}
	r.l.nMels = r.cfg.NMels
	if frames[0] > 0 {
		r.mel = int64(arrays["mel"].addr)
	}
	if err := r.readOffsets(arrays["offsets"], frames[0]); err != nil {
		return err
	}
	if err := r.readKeys(arrays["keys"], t); err != nil {
		return err
	}
	r.pad = make([]uint16, n)
	_, err = r.s.r.ReadAt(bytesOf(r.pad), int64(arrays["pad"].addr))
	return err
}

func (r *Reader) readOffsets(a array, frames uint64) error {
	b, err := r.s.at(a.addr, a.size)
	if err != nil {
		return err
	}
	r.l.offsets = make([]uint64, a.dims[0])
	last := uint64(0)
	for i := range r.l.offsets {
		o := binary.LittleEndian.Uint64(b[8*i:])
		if o < last || o > frames || i == 0 && o != 0 {
			return fmt.Errorf("damaged: offset %d is %d after %d, of %d frames", i, o, last, frames)
		}
		r.l.offsets[i], last = o, o
	}
	if last != frames {
		return fmt.Errorf("damaged: the offsets end at %d of %d frames", last, frames)
	}
	return nil
}

func (r *Reader) readKeys(a array, t *texts) error {
	b, err := r.s.at(a.addr, a.size)
	if err != nil {
		return err
	}
	r.l.keys = make([]string, a.dims[0])
	for i := range r.l.keys {
		key, err := t.text(b[i*refSize:][:refSize])
		if err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		if err := checkKey(key); err != nil {
			return fmt.Errorf("damaged: key %d: %w", i, err)
		}
		r.l.keys[i] = key
	}
	return nil
}

// Config is the mel configuration of all clips.
func (r *Reader) Config() mel.Config { return r.cfg }

// Keys are the keys of the clips in order. The slice is the reader's own.
func (r *Reader) Keys() []string { return r.l.keys }

// Len is the number of clips.
func (r *Reader) Len() int { return r.l.clips() }

// Frames is the number of frames of a clip.
func (r *Reader) Frames(row int) int { return r.l.frames(row) }

// MelOffset is where the frames start in the file, 0 where there are none.
func (r *Reader) MelOffset() int64 { return r.mel }

// Read reads a clip.
func (r *Reader) Read(row int) (mel.Mel, error) { return r.ReadInto(row, nil) }

// ReadInto reads a clip into the memory of dst where that is large enough: a
// loop that needs one clip at a time then makes no garbage.
func (r *Reader) ReadInto(row int, dst []uint16) (mel.Mel, error) {
	if row < 0 || row >= r.Len() {
		return mel.Mel{}, fmt.Errorf("shard %s: row %d of %d", r.path, row, r.Len())
	}
	m := mel.Mel{N: r.Frames(row), NMels: r.l.nMels, Pad: r.pad[row]}
	if n := m.N * m.NMels; cap(dst) >= n {
		m.Frames = dst[:n]
	} else {
		m.Frames = make([]uint16, n)
	}
	if _, err := r.s.r.ReadAt(bytesOf(m.Frames), r.mel+r.l.at(row)); err != nil {
		return mel.Mel{}, fmt.Errorf("shard %s: row %d (%s): %w", r.path, row, r.l.keys[row], err)
	}
	return m, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.close() }
