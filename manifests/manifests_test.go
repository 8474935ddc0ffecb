package manifests

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/mel"
)

func TestKeyPartsDoNotRunIntoEachOther(t *testing.T) {
	seen := map[Key]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}} {
		k := NewKey(parts...)
		if old, ok := seen[k]; ok {
			t.Errorf("%q and %q have the same key", old, parts)
		}
		seen[k] = strings.Join(parts, "|")
	}
}

// The keys of every dataset out there depend on this value.
func TestKeyIsStable(t *testing.T) {
	if got, want := NewKey("speech", "1", "text").String(), "48aa616300200aeff26909fc4850e727"; got != want {
		t.Errorf("key is %s, want %s: all datasets made so far would be made again", got, want)
	}
}

func TestKeyText(t *testing.T) {
	k := NewKey("x")
	b, _ := k.MarshalText()
	var back Key
	if err := back.UnmarshalText(b); err != nil || back != k {
		t.Errorf("%s came back as %s, %v", k, back, err)
	}
	for _, bad := range []string{"", "00", strings.Repeat("0", 31), strings.Repeat("g", 32), strings.Repeat("0", 33)} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a key", bad)
		}
	}
}

func entry() Entry {
	return Entry{
		Audio: "wavs/ab/x.wav", Duration: 1.5, Text: "Is 1 < 2 & 3?", ID: "a", Line: 3, Key: NewKey("a"),
		Lang: "en", Voice: "piper/jenny", Speed: 1,
		Clip: Clip{Samples: 24000, Peak: 0.5, RMS: 0.1, Loudness: -23.1, Bytes: 48044, CRC32C: "00000001"},
		Row:  Row{Shard: "shards/00000-x.h5", Index: 7, Frames: 151},
	}
}

func TestEntryLine(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := w.Write(entry()); err != nil {
		t.Fatal(err)
	}
	const want = `{"audio_filepath":"wavs/ab/x.wav","duration":1.5,"text":"Is 1 < 2 & 3?","id":"a","line":3,` +
		`"key":"ae6121c88ba555f64c3d812123eb799d","lang":"en","voice":"piper/jenny","speed":1,` +
		`"samples":24000,"peak":0.5,"rms":0.1,"loudness":-23.1,"bytes":48044,"crc32c":"00000001",` +
		`"shard":"shards/00000-x.h5","row":7,"frames":151}` + "\n"
	if b.String() != want {
		t.Errorf("the line is\n%swant\n%s", b.String(), want)
	}
	for e, err := range Entries(&b, "m") {
		if err != nil || e != entry() {
			t.Errorf("came back as %+v, %v", e, err)
		}
	}
}

func TestLinesNameWhatIsWrong(t *testing.T) {
	good, err := json.Marshal(entry())
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"cut short":       string(good[:40]),
		"not JSON":        "hello",
		"unknown field":   `{"audio_filepath":"a","id":"b","surprise":1}`,
		"no audio":        `{"id":"b","key":"ae6121c88ba555f64c3d812123eb799d"}`,
		"no id":           `{"audio_filepath":"b","key":"ae6121c88ba555f64c3d812123eb799d"}`,
		"bad key":         `{"audio_filepath":"a","id":"b","key":"zz"}`,
		"negative frames": `{"audio_filepath":"a","id":"b","key":"ae6121c88ba555f64c3d812123eb799d","frames":-1}`,
	} {
		n := 0
		for _, err := range Entries(strings.NewReader(string(good)+"\n"+bad+"\n"+string(good)), "m.jsonl") {
			n++
			if err != nil && !strings.HasPrefix(err.Error(), "m.jsonl, line 2: ") {
				t.Errorf("%s: error %q does not name the line", name, err)
			}
			if (err != nil) != (n == 2) {
				t.Errorf("%s: line %d gave %v", name, n, err)
			}
		}
		if n != 2 {
			t.Errorf("%s: reading went on to line %d", name, n)
		}
	}
}

func sample(t testing.TB) *Dataset {
	c, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	return &Dataset{
		Format: DatasetFormat, Version: 1,
		Settings: Settings{Format: "txt", Voice: "espeak/en-us", Rate: 16000, ShardSize: 512, Gates: gates.Default()},
		Mel:      &c,
		Totals:   Totals{Entries: 1, Clips: 1, Seconds: 1.5, Frames: 151},
		Manifest: File{File: "index/manifest-0.jsonl", Bytes: 3, CRC32C: "00000000", Lines: 1},
		Rejects:  File{File: "index/rejects-0.jsonl"},
		Shards:   []Shard{{File: "shards/0.h5", Bytes: 9, CRC32C: "00000000", Clips: 1, Frames: 151, MelOffset: 4096, NMels: 80, Engine: "cpu"}},
	}
}

// pad makes d a dataset of padded shards.
func pad(d *Dataset, frames int) {
	d.Layout, d.Version = Padded, Padded.DatasetVersion()
	d.Shards[0].Layout, d.Shards[0].PaddedFrames = Padded, frames
}

func TestDatasetRoundTrip(t *testing.T) {
	padded := sample(t)
	pad(padded, 3000)
	for _, d := range []*Dataset{sample(t), padded} {
		b, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeDataset(b)
		if err != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("came back as %+v, %v", back, err)
		}
		if packed := d.Layout == Packed; strings.Contains(string(b), "layout") == packed || (d.Version == 1) != packed {
			t.Errorf("a packed dataset is as releases without layouts wrote it, a padded one is not: %s", b)
		}
	}
}

func TestLayout(t *testing.T) {
	for _, l := range []Layout{Packed, Padded} {
		if got, err := ParseLayout(l.String()); got != l || err != nil {
			t.Errorf("%s came back as %q, %v", l, got, err)
		}
	}
	for _, wrong := range []string{"", "PADDED", "folded"} {
		if _, err := ParseLayout(wrong); err == nil || !strings.Contains(err.Error(), `"packed" or "padded"`) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestHasShards(t *testing.T) {
	d := sample(t)
	c := *d.Mel
	if !d.HasShards(&c, Packed) || d.HasShards(&c, Padded) || d.HasShards(nil, Packed) {
		t.Error("a packed dataset takes packed shards of its configuration only")
	}
	c.NMels++
	if d.HasShards(&c, Packed) {
		t.Error("another configuration was taken")
	}
}

func TestDatasetRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Dataset)
		want   string
	}{
		"newer version":   {func(d *Dataset) { d.Version = 3 }, "version 3 is not known"},
		"no version":      {func(d *Dataset) { d.Version = 0 }, "version 0 is not known"},
		"early layout":    {func(d *Dataset) { d.Layout = Padded }, "version 1 has no layout padded"},
		"unknown layout":  {func(d *Dataset) { d.Version, d.Layout = 2, "folded" }, `unknown layout "folded"`},
		"mixed layouts":   {func(d *Dataset) { d.Version, d.Layout = 2, Padded }, "is packed, but the dataset padded"},
		"no length":       {func(d *Dataset) { pad(d, 0) }, "impossible"},
		"negative length": {func(d *Dataset) { pad(d, -1) }, "impossible"},
		"packed length":   {func(d *Dataset) { d.Shards[0].PaddedFrames = 3000 }, "impossible"},
		"other format":    {func(d *Dataset) { d.Format = "zarr" }, `format is "zarr"`},
		"absolute path":   {func(d *Dataset) { d.Shards[0].File = "/etc/passwd" }, "not a path within"},
		"escaping path":   {func(d *Dataset) { d.Manifest.File = "../m.jsonl" }, "not a path within"},
		"unclean path":    {func(d *Dataset) { d.Rejects.File = "a/../b" }, "not a path within"},
		"nameless":        {func(d *Dataset) { d.Rejects.File = "" }, "without a name"},
		"shard of no mel": {func(d *Dataset) { d.Mel = nil }, "no mel configuration"},
		"wrong mels":      {func(d *Dataset) { d.Shards[0].NMels = 128 }, "impossible"},
		"empty shard":     {func(d *Dataset) { d.Shards[0].Clips = 0 }, "impossible"},
	} {
		d := sample(t)
		c.change(d)
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeDataset(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	b, _ := sample(t).Encode()
	if _, err := DecodeDataset(b[:len(b)/2]); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("half a file: %v", err)
	}
}

func FuzzDecodeDataset(f *testing.F) {
	b, err := sample(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	padded := sample(f)
	pad(padded, 3000)
	if b, err = padded.Encode(); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":"melforge-dataset","version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DecodeDataset(b)
		if err != nil {
			return
		}
		enc, err := d.Encode()
		if err != nil {
			t.Fatalf("decoded but does not encode: %v", err)
		}
		back, err := DecodeDataset(enc)
		if err != nil || !reflect.DeepEqual(back, d) {
			t.Fatalf("not the same after a round trip: %v", err)
		}
	})
}

func FuzzLines(f *testing.F) {
	good, _ := json.Marshal(entry())
	f.Add(good)
	f.Add([]byte(`{"state":"new","line":1,"id":"a","key":"ae6121c88ba555f64c3d812123eb799d"}`))
	f.Add([]byte(`{"line":1,"stage":"text","reason":"empty"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for e, err := range Entries(bytes.NewReader(b), "e") {
			if err == nil && (e.ID == "" || e.Key.IsZero()) {
				t.Fatal("an entry without id or key got through")
			}
		}
		for it, err := range Items(bytes.NewReader(b), "i") {
			if err == nil && it.State == StateReject && it.Reject == nil {
				t.Fatal("a reject without a reason got through")
			}
		}
		for r, err := range Rejects(bytes.NewReader(b), "r") {
			if err == nil && r.Reason == "" {
				t.Fatal("a reject without a reason got through")
			}
		}
	})
}
