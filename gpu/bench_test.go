package gpu

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/melforge/melforge/mel"
)

var (
	benchWorkers = flag.Int("bench-workers", 0, "callers of the benchmark")
	benchReaders = flag.Int("bench-readers", 0, "files that the benchmark reads at a time")
	benchSlots   = flag.Int("bench-slots", 0, "slots of the benchmark, with a chunk")
	benchPreset  = flag.String("bench-preset", "whisper-80", "what the benchmark computes")
	benchChunk   = flag.Int("bench-chunk", 0, "samples of a batch of the benchmark")
)

func TestBench(t *testing.T) {
	o := options(t, "worker")
	o.Devices = []int{0}
	b := Bench{Folder: t.TempDir(), Seconds: 0.05, Workers: 2, Sink: func(m mel.Mel) error { return nil }}
	if *cudaWorker != "" {
		o.Level, o.chunk, o.slots, b.Seconds, b.Workers, b.Readers = 1, *benchChunk, *benchSlots, 1, *benchWorkers, *benchReaders
	} else if testing.Short() {
		t.Skip("writes 500 MB of wavs")
	}
	r, err := b.Run(t.Context(), o, preset(t, *benchPreset))
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

// TestFirstFrame logs how long it takes from nothing to the first frames, with
// native code and with PTX that the driver has to compile.
func TestFirstFrame(t *testing.T) {
	for _, compile := range []bool{false, true, false, true} {
		o := options(t, "worker")
		o.compile, o.env = compile, append(o.env, "CUDA_CACHE_DISABLE=1")
		if *cudaWorker != "" {
			o.env = append(os.Environ(), "CUDA_CACHE_DISABLE=1")
		}
		begin := time.Now()
		if _, err := compute(t.Context(), start(t, o, "whisper-80"), noise(1, 16000)); err != nil {
			t.Fatal(err)
		}
		t.Logf("compiled %v: %.3f s to the first frames", compile, time.Since(begin).Seconds())
	}
}
