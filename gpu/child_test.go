package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/worker"
)

// The tests run a worker that is this very binary and computes with the CPU's
// engine, or, with -cuda, a real one on a real GPU.
var cudaWorker = flag.String("cuda", "", "path of melforge-cuda: test with the GPU")

var (
	testLevel = flag.Int("level", 0, "level of the engine in tests")
	testCache = flag.String("cache", "", "folder where the engine keeps what it measures")
)

const role = "MELFORGE_GPU_TEST_ROLE"

func TestMain(m *testing.M) {
	switch as := os.Getenv(role); as {
	case "":
		os.Exit(m.Run())
	case "worker":
		exitOn(fakeWorker(os.Args[1:]))
	case "driverless":
		fmt.Fprintln(os.Stderr, "melforge-cuda: error while loading shared libraries: libcuda.so.1: cannot open shared object file: No such file or directory")
		os.Exit(127)
	case "deviceless":
		fmt.Printf("Error in initialization, please refer to %q for details on: %+v\n", "somewhere", errors.New("NoDevice"))
		os.Exit(1)
	case "babbler":
		fmt.Println("Hello!")
	default:
		exitOn(fmt.Errorf("unknown role %q", as))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are those of the worker to test with.
func options(t testing.TB, as string) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Worker: exe, env: append(os.Environ(), role+"="+as), Level: *testLevel, CacheDir: *testCache, Log: func(line string) { t.Log(line) }}
	if *cudaWorker != "" && as == "worker" {
		o.Worker, o.env = *cudaWorker, nil
	}
	return o
}

var fakeDevices = []Device{
	{Index: 0, Name: "Fake 1", UUID: "GPU-1", Processors: 2, Memory: 1 << 34, Capability: "9.0"},
	{Index: 1, Name: "Fake 2", UUID: "GPU-2", Processors: 2, Memory: 1 << 34, Capability: "9.0"},
	{Index: 2, Name: "Old", Problem: "too old"},
}

func fakeWorker(args []string) error {
	flags := flag.NewFlagSet("fake", flag.ContinueOnError)
	probe := flags.Bool("probe", false, "")
	bench := flags.Bool("bench", false, "")
	bandwidth := flags.Bool("bandwidth", false, "")
	setup := flags.String("setup", "", "")
	index := flags.Int("device", -1, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *probe {
		return json.NewEncoder(os.Stdout).Encode(fakeDevices)
	}
	if *index >= 0 {
		return fakeServe(*index)
	}
	s, err := wire.DecodeSetup(*setup)
	if err != nil {
		return err
	}
	if *bench {
		if s.Device == 1 {
			return errors.New("cannot measure")
		}
		return json.NewEncoder(os.Stdout).Encode(fakeRates(s))
	}
	if *bandwidth {
		if s.Device == 1 {
			return errors.New("cannot measure")
		}
		return json.NewEncoder(os.Stdout).Encode(wire.Bandwidth{In: 3, Out: 4, Both: 6})
	}
	return errors.New("no setup without a question")
}

// fakeServe computes for the parent, each batch on a goroutine of its own.
func fakeServe(index int) error {
	conn, err := worker.Inherited()
	if err != nil {
		return err
	}
	about, err := json.Marshal(fakeDevices)
	if err != nil {
		return err
	}
	parent, err := worker.Greet(conn, about)
	if err != nil {
		return err
	}
	id, setup, err := parent.Next()
	if err != nil {
		return ended(err)
	}
	s, err := wire.DecodeSetup(string(setup))
	if err != nil {
		return err
	}
	if s.Device != index {
		return fmt.Errorf("a setup of device %d for device %d", s.Device, index)
	}
	memory, err := worker.OpenMemory(s.Memory, s.Layout.Bytes())
	if err != nil {
		return err
	}
	cpu, err := mel.NewCPU(s.Config, 2)
	if err != nil {
		return err
	}
	if err := parent.Reply(id, nil, nil); err != nil {
		return err
	}
	for {
		id, req, err := parent.Next()
		if err != nil {
			return ended(err)
		}
		go func() {
			b, err := wire.DecodeBatch(req, s.Layout)
			if err == nil {
				fakeFault(s.Provoke, b)
				err = fakeBatch(cpu, s, memory.Bytes(), b)
			}
			exitOn(parent.Reply(id, wire.Timing{In: 1, Compute: 2, Out: 3}.Encode(), err))
		}()
	}
}

// ended is nil if the parent only went away.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// fakeRates are the best with the largest batches, six of them on the device, and
// small blocks.
func fakeRates(s wire.Setup) wire.Rates {
	r := wire.Rates{Chunk: s.Chunk, HostToHost: float64(s.Chunk), DeviceOnly: float64(2 - s.Groups), Bus: 1, Duplex: 1, Elapsed: 1}
	if s.Groups == 1 {
		r.DeviceOnly = 3
	}
	if s.Buffers == 6 {
		r.HostToHost *= 1.02
	}
	return r
}

// fakeFault does in this process what a worker's fault does to it.
func fakeFault(provoke string, b wire.Batch) {
	fault, file, _ := strings.Cut(provoke, "@")
	if fault == "" || len(b.Clips) == 0 {
		return
	}
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil || f.Close() != nil {
			return
		}
	}
	switch fault {
	case wire.ProvokeHang:
		for {
			time.Sleep(time.Hour)
		}
	case wire.ProvokeFault:
		exitOn(errors.New("an illegal memory access was encountered"))
	case wire.ProvokeDeath:
		exitOn(unix.Kill(os.Getpid(), unix.SIGKILL))
	}
}

// fakeBatch computes a batch clip by clip.
func fakeBatch(cpu mel.Engine, s wire.Setup, memory []byte, b wire.Batch) error {
	in, out := s.Layout.SamplesOf(memory, int(b.Slot)), s.Layout.OutputOf(memory, int(b.Slot))
	for _, c := range b.Clips {
		clip, err := cpu.Clip(context.Background(), int(c.Samples))
		if err != nil {
			return err
		}
		copy(clip.Samples(), unsafe.Slice((*int16)(unsafe.Pointer(&in[2*c.At])), c.Samples))
		m, err := clip.Compute(context.Background())
		if err != nil {
			return err
		}
		to := unsafe.Slice((*uint16)(unsafe.Pointer(&out[2*c.Out])), len(m.Frames)+1)
		copy(to, m.Frames)
		to[len(m.Frames)] = m.Pad
		clip.Release()
	}
	return nil
}
