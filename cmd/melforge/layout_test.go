package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/shards"
)

// TestLayouts wants the same mels from both layouts, and clips that are there to
// be stored anew when the layout changes.
func TestLayouts(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(5)...)
	dir, other := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "d")
	ok(t, speak(corpus, dir, "--shard-size", "3")...)
	packed := entries(t, dir)
	m := messages(t, ok(t, speak(corpus, dir, "--shard-size", "3", "--layout", "padded", "--json")...))
	if m["summary"]["clips"] != 5.0 || m["summary"]["spoken"] != 0.0 {
		t.Errorf("another layout gave %v", m["summary"])
	}
	ok(t, "verify", dir, "--read-data")
	ok(t, speak(corpus, other, "--shard-size", "3")...)
	if d := load(t, dir); d.Layout != manifests.Padded || len(d.Shards) != 2 || d.Shards[0].PaddedFrames != 3000 {
		t.Errorf("dataset is %+v", d)
	}
	for i, e := range entries(t, dir) {
		a, b := read(t, dir, e), read(t, other, packed[i])
		for j, v := range b {
			if a[j] != v {
				t.Fatalf("%s: value %d is %#x padded and %#x packed", e.ID, j, a[j], v)
			}
		}
	}
	m = messages(t, ok(t, speak(corpus, dir, "--shard-size", "3", "--layout", "padded", "--json")...))
	if m["summary"]["clips"] != 0.0 {
		t.Errorf("run again: %v", m["summary"])
	}
	for _, flags := range [][]string{{"--layout", "square"}, {"--layout", "padded", "--mel", "nemo-80"}} {
		if o := run(t, speak(corpus, dir, flags...)...); o.code != exitUsage || !strings.Contains(o.stderr, "--layout") {
			t.Errorf("%q: exit %d, %q", flags, o.code, o.stderr)
		}
	}
}

// read is an entry's mel as a trainer gets it.
func read(t *testing.T, dir string, e manifests.Entry) []uint16 {
	t.Helper()
	r, err := shards.Open(datasets.At(dir).Path(e.Shard))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := r.Read(e.Index)
	if err != nil {
		t.Fatal(err)
	}
	return m.Padded(nil, 3000)
}
