package gpu

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/melforge/melforge/bench"
)

var (
	benchWorkers = flag.Int("bench-workers", 8*runtime.GOMAXPROCS(0), "callers of the benchmark")
	benchReaders = flag.Int("bench-readers", 0, "files that the benchmark reads at a time")
	benchSlots   = flag.Int("bench-slots", 0, "slots of the benchmark, with a chunk")
	benchPreset  = flag.String("bench-preset", "whisper-80", "what the benchmark computes")
	benchChunk   = flag.Int("bench-chunk", 0, "samples of a batch of the benchmark")
)

func TestBench(t *testing.T) {
	o, c := options(t, "worker"), preset(t, *benchPreset)
	o.Devices = []int{0}
	m := bench.Mel{Folder: t.TempDir(), Clip: 0.1, Seconds: 0.05, Workers: 2}
	if *cudaWorker != "" {
		o.Level, o.chunk, o.slots, m.Clip, m.Seconds, m.Workers, m.Readers = 1, *benchChunk, *benchSlots, 0, 1, *benchWorkers, *benchReaders
	}
	e, err := Open(t.Context(), o, c)
	if err != nil {
		t.Fatal(err)
	}
	m.Engine = e
	engine, err := m.Run(t.Context())
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	device, err := Bench(t.Context(), o, c)
	if err != nil {
		t.Fatal(err)
	}
	if engine.Memory.Clips <= 0 || engine.Files.Device["copy_in"] <= 0 || device.FirstFrame <= 0 {
		t.Errorf("%+v\n%+v", engine, device)
	}
	for _, r := range []any{engine, device} {
		s, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", s)
	}
	bus := device.Rates.BusBytes
	t.Logf("of the bus: from memory %.3f, from wavs %.3f", engine.Memory.Bytes/bus, engine.Files.Bytes/bus)
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
