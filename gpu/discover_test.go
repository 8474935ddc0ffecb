package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// killChildren kills every child of this process, and says how many.
func killChildren() int {
	n := 0
	for _, pid := range children() {
		if unix.Kill(pid, unix.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// children are the processes that this one started.
func children() (pids []int) {
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range tasks {
		b, _ := os.ReadFile(file)
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func TestDiscoverExplains(t *testing.T) {
	for as, want := range map[string]string{
		"driverless": "the NVIDIA driver is not installed (no libcuda.so.1): install it, or compute with --engine cpu",
		"deviceless": "the driver shows no GPU: check nvidia-smi",
		"babbler":    "gave no answer",
	} {
		_, err := discover(t.Context(), options(t, as))
		var u *Unavailable
		if !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", as, err)
		}
		if as == "babbler" {
			want = "did not start: exit status 0; it said: Hello!: check nvidia-smi"
		}
		o := options(t, as)
		o.Log = func(line string) { t.Errorf("%s: beside the error it said %s", as, line) }
		if _, err = Open(t.Context(), o, preset(t, "whisper-80")); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("open with %s: %v", as, err)
		}
	}
	for _, path := range []string{"", "/nowhere/melforge-cuda"} {
		if _, err := Discover(t.Context(), path); err == nil || !strings.Contains(err.Error(), "melforge-cuda is not there: build it") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestChoose(t *testing.T) {
	if *cudaWorker != "" {
		t.Skip("the real devices are others")
	}
	o := options(t, "worker")
	for _, tc := range []struct {
		devices []int
		want    int
		err     string
	}{{nil, 2, ""}, {[]int{1}, 1, ""}, {[]int{2}, 0, "too old"}, {[]int{3}, 0, "there is no GPU 3: choose of 0 to 2"}} {
		o.Devices = tc.devices
		got, err := choose(t.Context(), o)
		if len(got) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%v: %v, %v", tc.devices, got, err)
		}
	}
}

func TestLevels(t *testing.T) {
	if *cudaWorker != "" {
		t.Skip("the real devices are others")
	}
	o, c := options(t, "worker"), preset(t, "whisper-80")
	o.CacheDir = t.TempDir()
	d := Device{Index: 0, UUID: "GPU-1", Processors: 132, Memory: 1 << 37}
	small := Device{Processors: 132, Memory: 1 << 25}
	if tuningOf(d, 0) != tuningOf(small, 0) || tuningOf(d, 1).chunk <= tuningOf(small, 1).chunk {
		t.Error("level 0 must not depend on the device, level 1 must")
	}
	first, err := tune(t.Context(), o, c, d, 2)
	if err != nil || !strings.Contains(first.why, "measured:") || first.chunk != 2*tuningOf(d, 1).chunk || first.buffers != 6 || first.groups != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := tune(t.Context(), o, c, d, 2)
	if err != nil || again.chunk != first.chunk || again.buffers != first.buffers || again.groups != first.groups || !strings.Contains(again.why, "measured before") {
		t.Errorf("%+v, %v; want what was kept, %+v", again, err, first)
	}
	// Device 1 cannot be measured: the level below takes over.
	o.Devices, o.Level = []int{1}, 2
	if e := start(t, o, "whisper-80"); !strings.Contains(e.Describe(), "level 1") {
		t.Error(e.Describe())
	}
}

// TestAssessments wants every level of every usable device, with what is wrong
// where one cannot be measured.
func TestAssessments(t *testing.T) {
	o := options(t, "worker")
	o.Level = MaxLevel
	all, err := Levels(t.Context(), o, preset(t, "whisper-80"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		broken := a.Device.Name == "Fake 2"
		if (a.Problem != "") != broken || !broken && (a.Bandwidth.In <= 0 || a.Bandwidth.Out <= 0 || a.Bandwidth.Both < a.Bandwidth.In) {
			t.Errorf("%+v", a)
		}
		if len(a.Levels) != MaxLevel+1 {
			t.Fatalf("%d levels", len(a.Levels))
		}
		for i, l := range a.Levels {
			if l.Level != i || (l.Problem != "") != (broken && i == 2) || l.Problem == "" && (l.Samples < safeChunk || l.Pinned < int64(4*l.Samples) || l.Why == "") {
				t.Errorf("level %d: %+v", i, l)
			}
		}
		t.Logf("%+v", a)
	}
	c := preset(t, "whisper-80")
	c.Hop = -1
	if _, err := Levels(t.Context(), o, c); err == nil {
		t.Error("an impossible configuration was assessed")
	}
}

func TestOpenRefuses(t *testing.T) {
	o, c := options(t, "worker"), preset(t, "whisper-80")
	o.Level = 3
	if _, err := Open(t.Context(), o, c); err == nil || !strings.Contains(err.Error(), "level 3: choose 0, 1 or 2") {
		t.Errorf("level 3: %v", err)
	}
	c.NFFT = 434
	if _, err := Open(t.Context(), options(t, "worker"), c); err == nil || !strings.Contains(err.Error(), "use the CPU engine") {
		t.Errorf("a transform of 434 points: %v", err)
	}
}
