package trainer

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/melforge/melforge/manifests"
)

func viaJSON(t testing.TB, s State) (back State) {
	t.Helper()
	b, err := json.Marshal(s)
	check(t, err)
	check(t, json.Unmarshal(b, &back))
	return back
}

func TestStateIsPythons(t *testing.T) {
	size := 4
	s := State{
		Version: 1, Epoch: 2, Position: 12, Order: StateOrder{Seed: 3, Shuffle: true, Buckets: 5, Batch: &size},
		Manifest: manifests.File{File: "index/manifest-51b1f5e1c3a4d2aa.jsonl", Bytes: 9000, CRC32C: "7d2c41f0", Lines: 24}, Entries: 24,
	}
	// What json.dumps(loader.state_dict()) gives in Python.
	const python = `{"version": 1, "epoch": 2, "position": 12, "order": {"seed": 3, "shuffle": true, "bucket": 5, "batch_size": 4}, ` +
		`"manifest": {"file": "index/manifest-51b1f5e1c3a4d2aa.jsonl", "bytes": 9000, "crc32c": "7d2c41f0", "lines": 24}, "entries": 24}`
	b, err := json.Marshal(s)
	check(t, err)
	if want := strings.NewReplacer(": ", ":", ", ", ",").Replace(python); string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	s.Order.Batch = nil
	if b, _ = json.Marshal(s.Order); !strings.Contains(string(b), `"batch_size":null`) {
		t.Errorf("%s: want null, as Python writes", b)
	}
}

func TestResumeRefuses(t *testing.T) {
	d := fresh(t, lengths(8, 9)...).open(Options{})
	l := loader(t, d, LoaderOptions{Batch: 2, Buckets: 2, Seed: 4})
	other := 3
	for name, c := range map[string]struct {
		change func(*State)
		want   string
	}{
		"version":   {func(s *State) { s.Version = 2 }, "version 2, want 1"},
		"seed":      {func(s *State) { s.Order.Seed = 5 }, "another order: seed 5"},
		"shuffle":   {func(s *State) { s.Order.Shuffle = false }, "another order"},
		"batch":     {func(s *State) { s.Order.Batch = &other }, "batch 3"},
		"no batch":  {func(s *State) { s.Order.Batch = nil }, "another order"},
		"epoch":     {func(s *State) { s.Epoch = -1 }, "epoch -1"},
		"position":  {func(s *State) { s.Position = 9 }, "position 9 of 8"},
		"entries":   {func(s *State) { s.Entries = 9 }, "9 clips, but 8"},
		"elsewhere": {func(s *State) { s.Manifest.File = "../secret" }, "no file of a dataset"},
		"absolute":  {func(s *State) { s.Manifest.File = "/etc/passwd" }, "no file of a dataset"},
		"manifest":  {func(s *State) { s.Manifest.File = "index/gone.jsonl" }, "cannot go back"},
		"checksum":  {func(s *State) { s.Manifest.CRC32C = "12345678" }, "damaged or replaced"},
	} {
		s := l.State()
		c.change(&s)
		t.Run(name, func(t *testing.T) { wantError(t, l.Resume(s), c.want) })
	}
	if got := len(idsOf(epoch(t, l))); got != 8 {
		t.Errorf("%d clips after refused states, want 8", got)
	}
}

func FuzzState(f *testing.F) {
	d := fresh(f, lengths(9, 9)...).open(Options{})
	l := loader(f, d, LoaderOptions{Batch: 2, Seed: 4})
	b, err := json.Marshal(l.State())
	check(f, err)
	f.Add(string(b))
	f.Add(strings.Replace(string(b), `"position":0`, `"position":5`, 1))
	f.Add(strings.Replace(string(b), `"epoch":0`, `"epoch":9007199254740993`, 1))
	f.Add(`{"version":1,"order":null,"manifest":{"file":"."}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		var s State
		if json.Unmarshal([]byte(text), &s) != nil || l.Resume(s) != nil {
			return
		}
		if got := l.State(); !reflect.DeepEqual(got, viaJSON(t, s)) {
			t.Fatalf("resumed at %+v, want %+v", got, s)
		}
		if got := len(idsOf(epoch(t, l))); got != s.Entries-s.Position {
			t.Fatalf("%d clips from position %d of %d on", got, s.Position, s.Entries)
		}
		if s.Position < s.Entries {
			check(t, l.Resume(s))
			batch, err := l.Next(context.Background())
			check(t, err)
			batch.Release()
		}
	})
}
