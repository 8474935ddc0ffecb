package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestTrace wants every step, every wait and every batch in the trace of a run.
func TestTrace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "trace.json")
	ok(t, "ctc", tones(t, 0.3, 9000, fewTexts), "--out", filepath.Join(dir, "run"), "--steps", "3", "--batch", "2", "--trace", file)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct{ Ph, Name string }
	if err := json.Unmarshal(b, &events); err != nil {
		t.Fatal(err)
	}
	spans := map[string]int{}
	for _, e := range events {
		if e.Ph == "X" {
			spans[e.Name]++
		}
	}
	for name, n := range map[string]int{"step": 3, "wait for data": 3, "checkpoint": 1} {
		if spans[name] != n {
			t.Errorf("%d of %q, want %d; all: %v", spans[name], name, n, spans)
		}
	}
	if spans["read"] < 3 || spans["hand over"] < 3 || spans["evaluate"] < 1 {
		t.Errorf("batches and evaluations: %v", spans)
	}
}
