package datasets

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/shards"
)

// Problem is one thing that verification found wrong.
type Problem struct {
	File   string `json:"file"`
	Detail string `json:"detail"`
}

// Report is what a verification looked at and found.
type Report struct {
	Entries  int       `json:"entries"`
	Wavs     int       `json:"wavs"`
	Shards   int       `json:"shards"`
	Bytes    int64     `json:"bytes_read"`
	Problems []Problem `json:"problems"`
	// Notes are no problems, but worth knowing.
	Notes []string `json:"notes,omitempty"`
}

// VerifyOptions says how deep to look and whom to tell.
type VerifyOptions struct {
	// ReadData also reads every wav and every frame.
	ReadData bool
	// Progress, if set, is called after each file.
	Progress func(Report)
	// Problem, if set, is called as each problem is found.
	Problem func(Problem)
}

// Verify checks that everything dataset.json names is there, has its size and
// checksum, opens, has its shape, and agrees with the manifest.
func (f Folder) Verify(o VerifyOptions) (Report, error) {
	d, err := f.MustLoad()
	if err != nil {
		return Report{}, err
	}
	v := &verifier{folder: f, dataset: d, opts: o, rows: map[string]map[int]row{}}
	v.report.Problems = []Problem{}
	whole := v.file(d.Manifest)
	if v.file(d.Rejects) {
		v.rejects()
	}
	v.links()
	if whole {
		v.manifest()
	}
	for _, s := range d.Shards {
		v.shard(s)
		v.step()
	}
	return v.report, nil
}

// row is what the manifest says of one row of a shard.
type row struct {
	key    manifests.Key
	frames int
}

type verifier struct {
	folder  Folder
	dataset *manifests.Dataset
	opts    VerifyOptions
	report  Report
	rows    map[string]map[int]row // by shard file
}

func (v *verifier) problem(file, format string, args ...any) {
	p := Problem{File: file, Detail: fmt.Sprintf(format, args...)}
	v.report.Problems = append(v.report.Problems, p)
	if v.opts.Problem != nil {
		v.opts.Problem(p)
	}
}

func (v *verifier) step() {
	if v.opts.Progress != nil {
		v.opts.Progress(v.report)
	}
}

// file checks a JSON lines file as dataset.json describes it.
func (v *verifier) file(want manifests.File) bool {
	crc, size, err := sum(v.folder.Path(want.File))
	v.report.Bytes += size
	switch {
	case err != nil:
		v.problem(want.File, "%s", plain(err))
	case size != want.Bytes:
		v.problem(want.File, "has %d bytes, dataset.json says %d", size, want.Bytes)
	case crc != want.CRC32C:
		v.problem(want.File, "checksum is %s, dataset.json says %s", crc, want.CRC32C)
	default:
		return true
	}
	return false
}

// links checks that the well-known names hold what dataset.json names, or the
// whole file of a run that did not come to its end.
func (v *verifier) links() {
	for name, want := range map[string]manifests.File{ManifestName: v.dataset.Manifest, RejectsName: v.dataset.Rejects} {
		b, err := os.ReadFile(v.folder.Path(name))
		if err != nil {
			v.problem(name, "%s", plain(err))
			continue
		}
		if Checksum(b) == want.CRC32C {
			continue
		}
		if _, err := os.Stat(v.folder.Path(indexFileName(name, sha256.Sum256(b)))); err != nil {
			v.problem(name, "differs from %s, which dataset.json names: run the last melforge command again", want.File)
			continue
		}
		v.report.Notes = append(v.report.Notes, fmt.Sprintf(
			"%s is that of a run that has not finished: run it again. dataset.json names %s", name, want.File))
	}
}

func (v *verifier) rejects() {
	n := 0
	for _, err := range v.folder.Rejects(v.dataset) {
		if err != nil {
			v.problem(v.dataset.Rejects.File, "%s", plain(err))
			return
		}
		n++
	}
	if t := v.dataset.Totals; n != t.Rejects || n != v.dataset.Rejects.Lines {
		v.problem(v.dataset.Rejects.File, "has %d lines, dataset.json says %d", n, t.Rejects)
	}
}

// manifest checks every entry and its wav.
func (v *verifier) manifest() {
	name := v.dataset.Manifest.File
	for _, s := range v.dataset.Shards {
		v.rows[s.File] = map[int]row{}
	}
	ids := map[string]bool{}
	wavs := map[manifests.Key]bool{}
	var totals manifests.Totals
	var samples int64
	for e, err := range v.folder.Entries(v.dataset) {
		if err != nil {
			v.problem(name, "%s", plain(err))
			return
		}
		v.report.Entries++
		if ids[e.ID] {
			v.problem(name, "id %s stands in it twice", e.ID)
		}
		ids[e.ID] = true
		totals.Entries++
		samples += int64(e.Samples)
		v.place(&e)
		if !wavs[e.Key] {
			wavs[e.Key] = true
			totals.Clips++
			totals.Frames += int64(e.Frames)
			v.wav(&e)
			v.step()
		}
	}
	totals.Rejects = v.dataset.Totals.Rejects
	totals.Seconds = float64(samples) / float64(v.dataset.Settings.Rate)
	if totals != v.dataset.Totals {
		v.problem(IndexName, "totals are %+v, the manifest gives %+v", v.dataset.Totals, totals)
	}
}

// place notes where an entry says its mel is.
func (v *verifier) place(e *manifests.Entry) {
	if !e.HasMel() {
		return
	}
	rows, ok := v.rows[e.Shard]
	if !ok {
		v.problem(e.Shard, "entry %s has its mel there, but dataset.json does not name it", e.ID)
		return
	}
	r := row{e.Key, e.Frames}
	if old, ok := rows[e.Index]; ok && old != r {
		v.problem(e.Shard, "row %d is claimed by keys %s and %s", e.Index, old.key, e.Key)
	}
	rows[e.Index] = r
	if want := v.dataset.Mel.Frames(e.Samples); want != e.Frames {
		v.problem(v.dataset.Manifest.File, "entry %s: %d samples make %d frames, not %d", e.ID, e.Samples, want, e.Frames)
	}
}

// wav checks a clip's file: its size, and with ReadData its bytes and samples.
func (v *verifier) wav(e *manifests.Entry) {
	path := v.folder.Path(e.Audio)
	v.report.Wavs++
	st, err := os.Stat(path)
	if err != nil {
		v.problem(e.Audio, "%s", plain(err))
		return
	}
	if st.Size() != e.Bytes {
		v.problem(e.Audio, "has %d bytes, the manifest says %d", st.Size(), e.Bytes)
		return
	}
	if !v.opts.ReadData {
		return
	}
	b, err := os.ReadFile(path)
	v.report.Bytes += int64(len(b))
	if err != nil {
		v.problem(e.Audio, "%s", plain(err))
		return
	}
	if crc := Checksum(b); crc != e.CRC32C {
		v.problem(e.Audio, "checksum is %s, the manifest says %s", crc, e.CRC32C)
		return
	}
	p, err := audio.DecodeWAV(b)
	if err != nil {
		v.problem(e.Audio, "%v", err)
		return
	}
	if rate := v.dataset.Settings.Rate; p.Rate == rate && len(p.Samples) != e.Samples {
		v.problem(e.Audio, "has %d samples, the manifest says %d", len(p.Samples), e.Samples)
	}
}

// shard checks one HDF5 file against dataset.json and the manifest.
func (v *verifier) shard(s manifests.Shard) {
	v.report.Shards++
	v.report.Bytes += s.Bytes
	path := v.folder.Path(s.File)
	if err := shards.Check(path, s); err != nil {
		v.problem(s.File, "%s", plain(err))
		return
	}
	r, err := shards.Open(path)
	if err != nil {
		v.problem(s.File, "%s", plain(err))
		return
	}
	if r.Config() != *v.dataset.Mel {
		v.problem(s.File, "was made with mel configuration %+v, dataset.json says %+v", r.Config(), *v.dataset.Mel)
	}
	keys := r.Keys()
	for i, want := range v.rows[s.File] {
		switch {
		case i >= len(keys):
			v.problem(s.File, "has %d rows, the manifest names row %d", len(keys), i)
		case keys[i] != want.key.String():
			v.problem(s.File, "row %d holds clip %s, the manifest says %s", i, keys[i], want.key)
		case r.Frames(i) != want.frames:
			v.problem(s.File, "row %d has %d frames, the manifest says %d", i, r.Frames(i), want.frames)
		}
	}
	if v.opts.ReadData {
		v.values(s, r)
	}
	if err := r.Close(); err != nil {
		v.problem(s.File, "%s", plain(err))
	}
}

// values reads every frame of a shard and wants finite numbers, and padding
// that is what it should be.
func (v *verifier) values(s manifests.Shard, r *shards.Reader) {
	var array, want []uint16
	for i := range r.Len() {
		m, err := r.Read(i)
		if err != nil {
			v.problem(s.File, "row %d: %s", i, plain(err))
			return
		}
		for _, x := range append(m.Frames, m.Pad) {
			if x&0x7c00 == 0x7c00 { // FP16's infinities and NaNs
				v.problem(s.File, "row %d holds a value that is not finite", i)
				return
			}
		}
		if r.Layout() != manifests.Padded {
			continue
		}
		if array, err = r.ReadPadded(i, r.PaddedFrames(), array); err != nil {
			v.problem(s.File, "row %d: %s", i, plain(err))
			return
		}
		if want = m.Padded(want, r.PaddedFrames()); !slices.Equal(array, want) {
			v.problem(s.File, "row %d: not all after its %d frames is its pad value", i, m.N)
			return
		}
	}
}

// sum is the checksum and size of a file.
func sum(path string) (crc string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	h := crc32.New(castagnoli)
	size, err = io.Copy(h, f)
	return fmt.Sprintf("%08x", h.Sum32()), size, errors.Join(err, f.Close())
}

// plain shortens the commonest error: the file's name stands beside it anyway.
func plain(err error) string {
	if errors.Is(err, os.ErrNotExist) {
		return "is missing"
	}
	return err.Error()
}
