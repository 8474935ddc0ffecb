package trainer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

func TestClips(t *testing.T) {
	f := fresh(t, lengths(23, 30)...)
	d := f.open(Options{})
	if d.Len() != 23 || d.Mel() != f.cfg {
		t.Errorf("%d clips of %s", d.Len(), d.Mel().Name)
	}
	for i, it := range f.items {
		want := Clip{
			Index: i, ID: it.ID, Key: it.Key.String(), Text: it.Text, Language: it.Lang, Voice: it.Voice,
			Frames: f.mels[i].N, Duration: float64(f.mels[i].N*160) / 16000,
		}
		if got := d.Clip(i); got != want {
			t.Errorf("clip %d is %+v, want %+v", i, got, want)
		}
		for _, name := range []string{want.ID, want.Key} {
			if got, ok := d.Find(name); !ok || got != i {
				t.Errorf("%s is %d, %t, want %d", name, got, ok, i)
			}
		}
	}
	if _, ok := d.Find("nobody"); ok {
		t.Error("found what is not there")
	}
}

func TestSharedKey(t *testing.T) {
	f := fresh(t, 4, 6)
	shared := f.items[1]
	shared.ID, shared.State = "again", manifests.StateDone
	f.items = append(f.items, shared)
	f.mels = append(f.mels, f.mels[1])
	for i := range f.items {
		f.items[i].State = manifests.StateDone
	}
	f.index()
	d := f.open(Options{})
	if i, ok := d.Find(shared.Key.String()); !ok || i != 1 {
		t.Errorf("the key is first at %d, want 1", i)
	}
	if i, ok := d.Find("again"); !ok || i != 2 {
		t.Errorf("the id is at %d, want 2", i)
	}
	holdAll(t, f, d)
}

// holdAll fails unless every clip of d reads as f made it.
func holdAll(t *testing.T, f *folder, d *Dataset) {
	t.Helper()
	for i := range d.Len() {
		c := d.Clip(i)
		at := slices.IndexFunc(f.items, func(it manifests.Item) bool { return it.ID == c.ID })
		got := make([]uint16, f.cfg.NMels*100)
		check(t, d.ReadHalf(got, i, 100))
		if !slices.Equal(got, f.mels[at].Padded(nil, 100)) {
			t.Errorf("%s reads wrong", c.ID)
		}
	}
}

// rewrite changes dataset.json.
func (f *folder) rewrite(change func([]byte) []byte) {
	f.t.Helper()
	path := filepath.Join(f.dir, indexName)
	b, err := os.ReadFile(path)
	check(f.t, err)
	check(f.t, os.WriteFile(path, change(b), 0o644))
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(f *folder)
		want string
	}{
		"no dataset":   {func(f *folder) { check(t, os.Remove(filepath.Join(f.dir, indexName))) }, "is no dataset"},
		"no folder":    {func(f *folder) { f.dir += "/nowhere" }, "is no dataset"},
		"empty index":  {func(f *folder) { f.rewrite(func([]byte) []byte { return nil }) }, "dataset.json: not JSON"},
		"cut index":    {func(f *folder) { f.rewrite(func(b []byte) []byte { return b[:len(b)/2] }) }, "cut short"},
		"other format": {func(f *folder) { f.replace(`"melforge-dataset"`, `"dataset"`) }, "not a Melforge dataset"},
		"new version":  {func(f *folder) { f.replace(`"version": 1`, `"version": 99`) }, "version 99 is not known"},
		"manifest gone": {func(f *folder) {
			check(t, os.RemoveAll(filepath.Join(f.dir, "index")))
		}, "manifest open "},
		"manifest cut": {func(f *folder) {
			check(t, os.Truncate(f.manifest(), 100))
		}, "100 bytes, want"},
		"manifest changed": {func(f *folder) {
			b, err := os.ReadFile(f.manifest())
			check(t, err)
			check(t, os.WriteFile(f.manifest(), bytes.Replace(b, []byte("clip-1"), []byte("clip-7"), 1), 0o644))
		}, "damaged or replaced"},
		"unknown shard": {func(f *folder) { f.replace("shards/00000-drawn.h5", "shards/other.h5") }, "does not name its shard shards/00000"},
		"no hop":        {func(f *folder) { f.replace(`"hop": 160`, `"hop": 0`) }, "hop 0"},
		"fewer clips":   {func(f *folder) { f.replace(`"clips": 5`, `"clips": 2`) }, "no row 2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fresh(t, lengths(7, 9)...)
			c.harm(f)
			d, err := Open(f.dir, Options{})
			wantError(t, err, c.want)
			if d != nil {
				t.Error("a dataset was given all the same")
			}
		})
	}
	if _, err := Open(fresh(t, 3).dir, Options{OnBadShard: 7}); err == nil {
		t.Error("OnBadShard 7 was taken")
	}
}

func (f *folder) replace(old, new string) {
	f.t.Helper()
	f.rewrite(func(b []byte) []byte {
		if !bytes.Contains(b, []byte(old)) {
			f.t.Fatalf("dataset.json has no %s", old)
		}
		return bytes.Replace(b, []byte(old), []byte(new), 1)
	})
}

// manifest is the path of the manifest that dataset.json names.
func (f *folder) manifest() string {
	f.t.Helper()
	index, err := readIndex(f.dir)
	check(f.t, err)
	return filepath.Join(f.dir, index.Manifest.File)
}

func TestOpenWithoutMels(t *testing.T) {
	f := fresh(t, 3)
	f.rewrite(func([]byte) []byte {
		d := manifests.Dataset{
			Format: manifests.DatasetFormat, Version: 1,
			Manifest: manifests.File{File: "index/a", CRC32C: "00000000"}, Rejects: manifests.File{File: "index/b", CRC32C: "00000000"},
		}
		b, err := d.Encode()
		check(t, err)
		return b
	})
	_, err := Open(f.dir, Options{})
	wantError(t, err, "has no mels", "melforge mel")
}

// damage is what can happen to a shard, and what is said about it.
var damage = map[string]struct {
	harm   func(t *testing.T, path string)
	verify bool // only a checksum finds it
	want   string
}{
	"gone":  {func(t *testing.T, p string) { check(t, os.Remove(p)) }, false, "no such file"},
	"cut":   {func(t *testing.T, p string) { check(t, os.Truncate(p, 5000)) }, false, "5000 bytes, want"},
	"empty": {func(t *testing.T, p string) { check(t, os.Truncate(p, 0)) }, false, "0 bytes, want"},
	"head":  {func(t *testing.T, p string) { flip(t, p, 3) }, false, ""},
	"frames": {func(t *testing.T, p string) {
		st, err := os.Stat(p)
		check(t, err)
		flip(t, p, st.Size()-7)
	}, true, "crc32c"},
	"folder": {func(t *testing.T, p string) {
		check(t, os.Remove(p))
		check(t, os.Mkdir(p, 0o755))
	}, false, ""},
}

// flip changes one byte of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	b[at] ^= 0x10
	check(t, os.WriteFile(path, b, 0o644))
}

func TestBadShard(t *testing.T) {
	for name, c := range damage {
		t.Run(name, func(t *testing.T) {
			f := fresh(t, lengths(13, 9)...) // shards of 5, 5 and 3 clips
			c.harm(t, f.shardPath(1))
			room := make([]uint16, 80*9)

			d := f.open(Options{Verify: c.verify})
			if d.Len() != 13 {
				t.Errorf("%d clips before the damage was met, want 13", d.Len())
			}
			check(t, d.ReadHalf(room, 4, 9))
			wantError(t, d.ReadHalf(room, 5, 9), "00001-drawn.h5", c.want, "melforge verify")
			check(t, d.ReadHalf(room, 10, 9))

			d = f.open(Options{Verify: c.verify, OnBadShard: Skip})
			if d.Len() != 8 || d.Clip(5).ID != "clip-10" {
				t.Errorf("%d clips, of which the sixth is %s; want 8, clip-10", d.Len(), d.Clip(5).ID)
			}
			if bad := d.Damaged(); len(bad) != 1 {
				t.Errorf("left out for %v", bad)
			} else {
				wantError(t, bad[0], "00001-drawn.h5", c.want)
			}
			holdAll(t, f, d)
		})
	}
}

// What dataset.json says of a shard has to be what the shard says.
func TestShardUnlikeItsRecord(t *testing.T) {
	for old, new := range map[string]string{
		`"mel_offset": `: `"mel_offset": 1`,
		`"clips": 5,
      "frames"`: `"clips": 6,
      "frames"`,
		`"hop": 160`: `"hop": 161`,
	} {
		f := fresh(t, lengths(5, 9)...)
		f.replace(old, new)
		d := f.open(Options{})
		wantError(t, d.ReadHalf(make([]uint16, 80*9), 0, 9), "00000-drawn.h5", "dataset")
	}
}

func TestAllShardsBad(t *testing.T) {
	f := fresh(t, 3, 4)
	check(t, os.Remove(f.shardPath(0)))
	_, err := Open(f.dir, Options{OnBadShard: Skip})
	wantError(t, err, "no clip that can be read", "00000-drawn.h5")
}

func TestShardCutWhileMapped(t *testing.T) {
	f := fresh(t, 60, 70, 80)
	d := f.open(Options{})
	room := make([]uint16, 80*80)
	check(t, d.ReadHalf(room, 2, 80))
	check(t, os.Truncate(f.shardPath(0), 8192))
	wantError(t, d.ReadHalf(room, 2, 80), "00000-drawn.h5", "cut short")
}

func TestReadAfterClose(t *testing.T) {
	f := fresh(t, 5)
	d, err := Open(f.dir, Options{})
	check(t, err)
	room := make([]uint16, 80*5)
	check(t, d.ReadHalf(room, 0, 5))
	check(t, d.Close())
	wantError(t, d.ReadHalf(room, 0, 5), "was closed")
}

func TestRefresh(t *testing.T) {
	f := fresh(t, lengths(6, 9)...)
	d := f.open(Options{})
	if grown, err := d.Refresh(); grown != 0 || err != nil {
		t.Errorf("nothing was added, but %d, %v", grown, err)
	}
	f.add(7, 8, 9)
	if grown, err := d.Refresh(); grown != 3 || err != nil || d.Len() != 9 {
		t.Errorf("three were added, but %d, %v", grown, err)
	}
	holdAll(t, f, d)
	if i, ok := d.Find("clip-8"); !ok || i != 8 {
		t.Errorf("a new clip is at %d, %t", i, ok)
	}

	f.replace(`"version": 1`, `"version": 99`)
	_, err := d.Refresh()
	wantError(t, err, "version 99")
	holdAll(t, f, d) // as before
}

func TestRefreshWithOtherMels(t *testing.T) {
	f := fresh(t, 5)
	d := f.open(Options{})
	g := newFolder(t)
	var err error
	g.cfg, err = mel.Preset("whisper-128")
	check(t, err)
	g.dir = f.dir
	g.made = 50
	g.add(5, 6)
	_, err = d.Refresh()
	wantError(t, err, "whisper-128 instead of whisper-80")
}

func TestKeep(t *testing.T) {
	f := fresh(t, lengths(20, 9)...)
	d := f.open(Options{Keep: func(c Clip) bool { return c.Language == "de" }})
	if d.Len() != 10 || d.Clip(3).ID != "clip-7" {
		t.Errorf("%d clips, the fourth is %s", d.Len(), d.Clip(3).ID)
	}
	holdAll(t, f, d)
	_, err := Open(f.dir, Options{Keep: func(Clip) bool { return false }})
	wantError(t, err, "Keep leaves no clip")
}

func TestHoldOut(t *testing.T) {
	train, held := HoldOut(0.2, 5)
	n := 0
	for i := range 2000 {
		c := Clip{ID: fmt.Sprint(i), Text: fmt.Sprintf("Sentence %d.", i)}
		variant := Clip{ID: fmt.Sprint(i, "~2"), Text: c.Text}
		if train(c) == held(c) || held(c) != held(variant) {
			t.Fatalf("clip %d is on both sides, on none, or its variant on the other", i)
		}
		if held(c) {
			n++
		}
	}
	if n < 320 || n > 480 { // more than four standard deviations around 400
		t.Errorf("%d of 2000 were held out, want about 400", n)
	}
}
