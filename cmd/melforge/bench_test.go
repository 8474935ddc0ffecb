package main

import (
	"encoding/json"
	"os"
	"testing"
)

func TestBenchMeasuresAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	var mels struct {
		Type   string `json:"message_type"`
		Shards struct {
			Rate float64 `json:"clips_per_second"`
		} `json:"shards"`
	}
	out := ok(t, "bench", "mel", "--engine", "cpu", "--clip", "1", "--seconds", "0.01", "--folder", dir, "--json")
	if err := json.Unmarshal([]byte(out), &mels); err != nil || mels.Type != "bench_mel" || !(mels.Shards.Rate > 0) {
		t.Errorf("%s: %v", out, err)
	}
	var whole struct {
		Type   string  `json:"message_type"`
		Files  int     `json:"files"`
		Shards int     `json:"shards"`
		OfRaw  float64 `json:"of_raw"`
		Phases struct {
			Planned float64 `json:"planned"`
			Made    float64 `json:"shards_made"`
			Indexed float64 `json:"indexed"`
		} `json:"phases"`
		Cold struct {
			OfRaw   float64 `json:"of_raw"`
			InCache float64 `json:"in_cache"`
		} `json:"cold"`
	}
	out = ok(t, "bench", "e2e", "--engine", "cpu", "--files", "5", "--folder", dir, "--cold", "--json")
	if err := json.Unmarshal([]byte(out), &whole); err != nil || whole.Type != "bench_e2e" || whole.Files != 5 || whole.Shards != 1 || !(whole.OfRaw > 0) {
		t.Errorf("%s: %v", out, err)
	}
	if at := whole.Phases; !(at.Planned > 0 && at.Made > 0 && at.Indexed > at.Made) || !(whole.Cold.OfRaw > 0) || whole.Cold.InCache < 0 || whole.Cold.InCache > 1 {
		t.Errorf("phases %+v, cold %+v", at, whole.Cold)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, args := range [][]string{{"mel", "--seconds", "0"}, {"mel", "--clip", "31"}, {"e2e", "--files", "0"}, {"e2e", "--longest", "31"}, {"mel", "--engine", "tpu"}} {
		if o := run(t, append([]string{"bench", args[0], "--folder", dir}, args[1:]...)...); o.code == exitDone {
			t.Errorf("bench %q was taken:\n%s", args, o.out)
		}
	}
}
