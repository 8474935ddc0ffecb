package trainer

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/melforge/melforge/manifests"
)

// readAll reads every clip of a dataset that opened: whatever its files claim,
// that is an error at worst.
func readAll(t *testing.T, d *Dataset) {
	t.Helper()
	for i := range d.Len() {
		if n := d.Clip(i).Frames; n < 1<<16 {
			dst := make([]uint16, d.Mel().NMels*max(n, 1))
			_ = d.ReadHalf(dst, i, max(n, 1))
		}
	}
	check(t, d.Close())
}

func FuzzOpen(f *testing.F) {
	made := fresh(f, lengths(7, 9)...)
	path := filepath.Join(made.dir, indexName)
	seed, err := os.ReadFile(path)
	check(f, err)
	f.Add(seed)
	f.Add(seed[:len(seed)/2])
	f.Add([]byte(`{"format":"melforge-dataset","version":1}`))
	for old, new := range map[string]string{
		`"mel_offset": `: `"mel_offset": 1`, `"clips": 5`: `"clips": 6`, `"n_mels": 80`: `"n_mels": 9223372036854775807`,
		`"engine": "cpu"`: `"engine": "cpu", "layout": "padded", "padded_frames": 9000000000000000000`,
		`"hop": 160`:      `"hop": 0`, `"frames": `: `"frames": 1`, `"bytes": `: `"bytes": 1`,
	} {
		f.Add(bytes.ReplaceAll(seed, []byte(old), []byte(new)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check(t, os.WriteFile(path, b, 0o644))
		for _, o := range []Options{{}, {OnBadShard: Skip, Verify: true}} {
			if d, err := Open(made.dir, o); err == nil {
				readAll(t, d)
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	made := fresh(f, lengths(7, 9)...)
	index, err := readIndex(made.dir)
	check(f, err)
	seed, err := os.ReadFile(made.manifest())
	check(f, err)
	f.Add(seed)
	f.Add(seed[:len(seed)-1])
	f.Add([]byte("\n\n{}"))
	f.Add([]byte(`{"shard":"shards/00000-drawn.h5","row":0,"frames":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "manifest")
		check(t, os.WriteFile(path, b, 0o644))
		record := manifests.File{File: "manifest", Bytes: int64(len(b)), CRC32C: checksum(b)}
		l, err := readLines(path, record, index.Shards)
		if err != nil {
			return
		}
		for i, p := range l.places {
			if p.row < 0 || p.frames < 0 || int(p.shard) >= len(index.Shards) {
				t.Errorf("clip %d at %+v", i, p)
			}
			_, err := l.clip(i)
			check(t, err)
		}
		check(t, l.m.close())
	})
}
