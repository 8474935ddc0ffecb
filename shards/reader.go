package shards

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/melforge/melforge/manifests"
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
	rows *rows // memory for padded clips; nil in a packed shard

	layout manifests.Layout

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
	v := int64(binary.LittleEndian.Uint64(b))
	if v < 1 || v > Version {
		return fmt.Errorf("version %d of the format is unknown to this melforge, which reads versions 1 to %d", v, Version)
	}
	if v == 2 {
		kind, err := textAttribute(root, t, "layout")
		if err != nil {
			return err
		}
		if r.layout = manifests.Layout(kind); r.layout != manifests.Padded {
			return fmt.Errorf("its layout is %q, which this melforge does not know", kind)
		}
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

// spec is what a dataset must be like.
type spec struct {
	name string
	k    kind
	rank int
}

func (r *Reader) readDatasets(root []message, t *texts) error {
	specs := []spec{{"offsets", kindUint64, 1}, {"keys", kindText, 1}, {"pad", kindFloat16, 1}, {"mel", kindFloat16, 2}}
	if r.layout == manifests.Padded {
		specs = []spec{{"frames", kindInt64, 1}, {"keys", kindText, 1}, {"pad", kindFloat16, 1}, {"mel", kindFloat16, 3}, {"text", kindText, 1}}
	}
	arrays, err := r.findDatasets(root, specs)
	if err != nil {
		return err
	}
	mels := arrays["mel"]
	frame := mels.dims[1]
	if frame < 1 || frame > maxMels || frame != uint64(r.cfg.NMels) {
		return fmt.Errorf("frames of %d values, but the mel configuration has %d", frame, r.cfg.NMels)
	}
	r.l.nMels = r.cfg.NMels
	if mels.size > 0 {
		r.mel = int64(mels.addr)
	}
	if r.l.keys, err = r.readTexts(arrays["keys"], t); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for i, key := range r.l.keys {
		if err := checkKey(key); err != nil {
			return fmt.Errorf("damaged: key %d: %w", i, err)
		}
	}
	if r.layout == manifests.Padded {
		err = r.readPadded(arrays, t)
	} else {
		err = r.readOffsets(arrays["offsets"], mels.dims[0])
	}
	if err != nil {
		return err
	}
	r.pad = make([]uint16, r.Len())
	_, err = r.s.r.ReadAt(bytesOf(r.pad), int64(arrays["pad"].addr))
	return err
}

// findDatasets looks up the datasets of a group, which must have a value for
// each clip where they are not the frames' or their offsets.
func (r *Reader) findDatasets(root []message, specs []spec) (map[string]array, error) {
	addrs, err := links(root)
	if err != nil {
		return nil, err
	}
	arrays := map[string]array{}
	for _, d := range specs {
		addr, ok := addrs[d.name]
		if !ok {
			return nil, fmt.Errorf("no dataset %q", d.name)
		}
		if arrays[d.name], err = r.s.newArray(addr, d.k, d.rank); err != nil {
			return nil, fmt.Errorf("dataset %q: %w", d.name, err)
		}
	}
	n := arrays["keys"].dims[0]
	for name, a := range arrays {
		want := n
		switch {
		case name == "offsets":
			want = n + 1
		case name == "mel" && r.layout == manifests.Packed:
			continue
		}
		if n == 0 || a.dims[0] != want {
			return nil, fmt.Errorf("damaged: %d keys, but the dataset %q is of %d", n, name, a.dims[0])
		}
	}
	return arrays, nil
}

// readPadded reads what only a padded shard has.
func (r *Reader) readPadded(arrays map[string]array, t *texts) (err error) {
	length := arrays["mel"].dims[2]
	if length < 1 || length > maxPadded {
		return fmt.Errorf("damaged: clips padded to %d frames", length)
	}
	r.l.padded = int(length)
	r.rows = &rows{size: r.l.nMels * r.l.padded}
	b, err := r.s.at(arrays["frames"].addr, arrays["frames"].size)
	if err != nil {
		return err
	}
	r.l.offsets = make([]uint64, r.Len()+1)
	for i := range r.Len() {
		n := binary.LittleEndian.Uint64(b[8*i:])
		if n > length {
			return fmt.Errorf("damaged: clip %d has %d of %d frames", i, int64(n), length)
		}
		r.l.offsets[i+1] = r.l.offsets[i] + n
	}
	if r.l.texts, err = r.readTexts(arrays["text"], t); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	return nil
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

func (r *Reader) readTexts(a array, t *texts) ([]string, error) {
	b, err := r.s.at(a.addr, a.size)
	if err != nil {
		return nil, err
	}
	all := make([]string, a.dims[0])
	for i := range all {
		if all[i], err = t.text(b[i*refSize:][:refSize]); err != nil {
			return nil, fmt.Errorf("clip %d: %w", i, err)
		}
	}
	return all, nil
}
