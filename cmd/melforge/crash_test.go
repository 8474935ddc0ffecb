package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/melforge/melforge/datasets"
)

// commitPoints are all the places where a file gets its name, in order.
var commitPoints = []string{
	"items", "plan", "wav", "shard", "result", "manifest", "manifest-link", "rejects", "rejects-link", "dataset",
}

// crashCorpus has rejects of every kind, so that each file has content.
func crashCorpus(t *testing.T, n int) string {
	return corpusFile(t, "c.txt", append(lines(n), "", "?!", "No.")...)
}

func crashArgs(corpus, dir string) []string {
	return speak(corpus, dir, "--shard-size", "5", "--min-seconds", "0.6", "--max-rejects", "50%")
}

// undisturbed is the dataset that every crash must lead to in the end.
func undisturbed(t *testing.T, args func(dir string) []string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	ok(t, args(dir)...)
	return tree(t, dir)
}

// TestCrashAtEveryCommitPoint kills the tool with SIGKILL right before and
// right after each file gets its name, once in a first run and once in a run
// that adds to a dataset, and wants the old dataset whole, and after running
// again the very bytes of a run that was never disturbed.
func TestCrashAtEveryCommitPoint(t *testing.T) {
	needEspeak(t)
	if testing.Short() {
		t.Skip("short: 40 runs of the tool")
	}
	small, large := crashCorpus(t, 6), crashCorpus(t, 12)
	fresh := undisturbed(t, func(dir string) []string { return crashArgs(small, dir) })
	grown := undisturbed(t, func(dir string) []string {
		ok(t, crashArgs(small, dir)...)
		return crashArgs(large, dir)
	})
	for _, point := range commitPoints {
		for _, when := range []string{".before-rename", ".after-rename"} {
			t.Run(point+when, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "d")
				crash(t, point+when, crashArgs(small, dir))
				ok(t, crashArgs(small, dir)...)
				swept(t, "first run", dir, fresh)

				crash(t, point+when, crashArgs(large, dir))
				ok(t, "verify", dir, "--read-data")
				ok(t, crashArgs(large, dir)...)
				ok(t, "verify", dir, "--read-data")
				swept(t, "grown", dir, grown)
			})
		}
	}
}

// crash runs the tool and wants it to die at the point.
func crash(t *testing.T, point string, args []string) {
	t.Helper()
	cmd := tool([]string{"MELFORGE_CRASH_AT=" + point}, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("did not die at %s: %v\n%s", point, err, out)
	}
}

// swept compares after garbage collection on both sides: an interrupted run
// may leave files that nothing names.
func swept(t *testing.T, what, dir string, want map[string]string) {
	t.Helper()
	ok(t, "gc", dir)
	got := tree(t, dir)
	for name := range want {
		// The undisturbed one may hold manifests of its earlier runs.
		if strings.HasPrefix(name, "index/") {
			if _, named := got[name]; !named {
				continue
			}
		}
		if got[name] != want[name] {
			t.Errorf("%s: %s differs or is missing", what, name)
		}
	}
	for name := range got {
		if _, known := want[name]; !known {
			t.Errorf("%s: %s is too much", what, name)
		}
	}
}

// TestKillAtRandomMoments kills runs with SIGKILL at random moments, 50 times
// and more that speak and 25 times that take wavs, until the dataset is complete
// each time, and compares.
func TestKillAtRandomMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("short: 75 killed runs of the tool")
	}
	t.Run("speech", func(t *testing.T) {
		needEspeak(t)
		corpus := crashCorpus(t, 60)
		killAtRandom(t, 50, 900*time.Millisecond, func(dir string) []string { return crashArgs(corpus, dir) })
	})
	t.Run("wavs", func(t *testing.T) {
		wavs := wavFolder(t, 400)
		killAtRandom(t, 25, 500*time.Millisecond, func(dir string) []string { return melArgs(wavs, dir) })
	})
}

// killAtRandom kills runs of the tool within so long of their start until so
// many were killed.
func killAtRandom(t *testing.T, want int, within time.Duration, args func(dir string) []string) {
	t.Helper()
	whole := undisturbed(t, args)
	random := rand.New(rand.NewPCG(1, 2))
	kills, rounds := 0, 0
	for ; kills < want; rounds++ {
		dir := filepath.Join(t.TempDir(), "d")
		for !killed(t, time.Duration(random.Int64N(int64(within))), args(dir)) {
			kills++
			if d, _, err := datasets.At(dir).Load(); err != nil || d != nil && !complete(t, dir) {
				t.Fatalf("after kill %d: dataset.json is there, but not right (%v)", kills, err)
			}
		}
		ok(t, "verify", dir, "--read-data")
		swept(t, "killed", dir, whole)
	}
	t.Logf("%d kills over %d datasets", kills, rounds)
}

// killed runs the tool and kills it after that time. It reports whether the tool
// was done before.
func killed(t *testing.T, after time.Duration, args []string) (done bool) {
	t.Helper()
	cmd := tool(nil, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second // a voice that outlives the tool may hold its output open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err == nil {
		return true
	}
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("died by itself: %v\n%s", cmd.ProcessState, &said)
	}
	return false
}

func complete(t *testing.T, dir string) bool {
	r, err := datasets.At(dir).Verify(datasets.VerifyOptions{ReadData: true})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Problems) == 0
}

// TestInterrupt stops a run with SIGINT as Ctrl-C does: it says how to go on,
// and going on gives the same bytes.
func TestInterrupt(t *testing.T) {
	needEspeak(t)
	corpus := corpusFile(t, "c.txt", lines(200)...)
	dir := filepath.Join(t.TempDir(), "d")
	if s := interrupt(t, dir, "wavs/*/*.wav", speak(corpus, dir, "--shard-size", "20")); !strings.Contains(s, "to go on: ") || !strings.Contains(s, "--shard-size 20") {
		t.Errorf("it says %q", s)
	}
	ok(t, speak(corpus, dir, "--shard-size", "20")...)
	want := undisturbed(t, func(d string) []string { return speak(corpus, d, "--shard-size", "20") })
	sameTree(t, "interrupted", tree(t, dir), want)
}

// interrupt runs the tool, stops it with SIGINT when the first such file at its
// final name shows that the work is under way, and returns what it says.
func interrupt(t *testing.T, dir, file string, args []string) string {
	t.Helper()
	cmd := tool(nil, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(glob(t, dir, file)) == 0 && cmd.Process.Signal(syscall.Signal(0)) == nil {
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit %d (%v)\n%s", code, err, stderr.String())
	}
	return stderr.String()
}

// TestDiskFull fills a real file system.
func TestDiskFull(t *testing.T) {
	needEspeak(t)
	mnt := smallDisk(t)
	dir := filepath.Join(mnt, "d")
	small, large := corpusFile(t, "c.txt", lines(3)...), corpusFile(t, "c.txt", lines(40)...)
	ok(t, speak(small, dir)...)
	before := load(t, dir)
	o := run(t, speak(large, dir)...)
	if o.code != exitFailed || !strings.Contains(o.stderr, "no space left") || !strings.Contains(o.stderr, "free some space") {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
	if after := load(t, dir); after.Manifest != before.Manifest {
		t.Error("dataset.json changed")
	}
	ok(t, "verify", dir, "--read-data")
	if err := syscall.Mount("tmpfs", mnt, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	ok(t, speak(large, dir)...)
	ok(t, "verify", dir, "--read-data")
	if got := load(t, dir).Totals.Entries; got != 40 {
		t.Errorf("%d entries after there was room again", got)
	}
}
