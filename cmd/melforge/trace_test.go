package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrace wants a trace of a run to hold every kind of work, as often as it was
// done, and within the time of the run.
func TestTrace(t *testing.T) {
	needEspeak(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "trace.json")
	corpus := corpusFile(t, "c.txt", lines(5)...)
	out := ok(t, speak(corpus, filepath.Join(dir, "ds"), "--shard-size", "3", "--trace", file, "--json")...)
	seconds := messages(t, out)["summary"]["seconds"].(float64)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Ph, Name string
		PID      int
		TS, Dur  float64
		Args     struct{ Name string }
	}
	if err := json.Unmarshal(b, &events); err != nil {
		t.Fatal(err)
	}
	tracks, spans := map[int]string{}, map[string]int{}
	for _, e := range events {
		switch {
		case e.Name == "process_name":
			tracks[e.PID] = e.Args.Name
		case e.Ph == "X":
			spans[tracks[e.PID]+" "+e.Name]++
			if e.TS < 0 || e.TS+e.Dur > 1e6*seconds {
				t.Errorf("%+v in a run of %g s", e, seconds)
			}
		}
	}
	want := map[string]int{"speech speak": 5, "wav level and store": 5, "mel compute": 5, "write row": 5, "write commit": 2, "shards make": 2, "engine open": 1, "index write": 1}
	for name, n := range want {
		if spans[name] != n {
			t.Errorf("%d of %q, want %d; all: %v", spans[name], name, n, spans)
		}
	}
	bad := run(t, speak(corpus, filepath.Join(dir, "other"), "--trace", filepath.Join(dir, "nowhere", "t.json"))...)
	if bad.code != exitUsage || !strings.Contains(bad.stderr, "--trace: ") {
		t.Errorf("a trace that cannot be written: %+v", bad)
	}
}
