package gpu

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/melforge/melforge/mel"
)

var (
	benchWorkers = flag.Int("bench-workers", 0, "callers of the benchmark")
	benchSlots   = flag.Int("bench-slots", 0, "slots of the benchmark, with a chunk")
	benchChunk   = flag.Int("bench-chunk", 0, "samples of a batch of the benchmark")
)

func TestBench(t *testing.T) {
	o := options(t, "worker")
	o.Devices = []int{0}
	b := Bench{Folder: t.TempDir(), Seconds: 0.05, Workers: 2, Sink: func(m mel.Mel) error { return nil }}
	if *cudaWorker != "" {
		o.Level, o.chunk, o.slots, b.Seconds, b.Workers = 1, *benchChunk, *benchSlots, 1, *benchWorkers
	} else if testing.Short() {
		t.Skip("writes 500 MB of wavs")
	}
	r, err := b.Run(t.Context(), o, preset(t, "whisper-80"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Protocol.Clips <= 0 || r.Files.Clips <= 0 || r.FirstFrame <= 0 {
		t.Errorf("%+v", r)
	}
	s, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", s)
}
