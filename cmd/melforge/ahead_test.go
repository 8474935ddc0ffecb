package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/melforge/melforge/audio"
)

// wavFolder is n wavs, of which one is silent, one is no wav and two are equal.
func wavFolder(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		p := audio.PCM{Rate: 16000, Samples: make([]int16, 8000+100*(i%37))}
		for j := range p.Samples {
			p.Samples[j] = int16((j*j*31 + j*max(7, i)) % 20000)
		}
		b := audio.AppendWAV(nil, p)
		switch i {
		case 3:
			b = audio.AppendWAV(nil, audio.PCM{Rate: 16000, Samples: make([]int16, 9000)})
		case 7:
			b = []byte("RIFF, but no more")
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.wav", i)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.ReadFile(filepath.Join(dir, "0000.wav"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "0011.wav"), first, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func melArgs(src, dir string, more ...string) []string {
	return append([]string{"mel", src, "--out", dir, "--engine", "cpu", "--shard-size", "4", "--max-rejects", "50%"}, more...)
}

// TestAheadOfThePlan wants the same bytes however much of the work was done
// before the plan was complete: killed when some shards were there and no plan
// was, and with any number of jobs and either runner.
func TestAheadOfThePlan(t *testing.T) {
	src := wavFolder(t, 30)
	want := undisturbed(t, func(dir string) []string { return melArgs(src, dir) })
	for _, more := range [][]string{{"--jobs", "1"}, {"--jobs", "9"}, {"--runner", "direct"}} {
		dir := filepath.Join(t.TempDir(), "d")
		ok(t, melArgs(src, dir, more...)...)
		sameTree(t, strings.Join(more, " "), tree(t, dir), want)
	}
	if testing.Short() {
		t.Skip("short: no killed runs")
	}
	for _, point := range []string{
		"shard.before-rename", "shard.after-rename:3", "result.before-rename:2", "result.after-rename:5",
		"items.before-rename", "items.after-rename", "plan.before-rename", "plan.after-rename", "shard.after-rename:7", "dataset.before-rename",
	} {
		dir := filepath.Join(t.TempDir(), "d")
		crash(t, point, melArgs(src, dir))
		ok(t, melArgs(src, dir)...)
		ok(t, "verify", dir, "--read-data")
		swept(t, point, dir, want)
	}
}

// TestInterruptAheadOfThePlan stops a run with SIGINT when the first shard is
// there, which may be before the plan is: it says how to go on.
func TestInterruptAheadOfThePlan(t *testing.T) {
	src := wavFolder(t, 1500)
	dir := filepath.Join(t.TempDir(), "d")
	if s := interrupt(t, dir, "shards/0*.h5", melArgs(src, dir)); !strings.Contains(s, "to go on: ") || strings.Contains(s, "panic") {
		t.Errorf("it says %q", s)
	}
	ok(t, melArgs(src, dir)...)
	sameTree(t, "interrupted", tree(t, dir), undisturbed(t, func(d string) []string { return melArgs(src, d) }))
}

// TestFailureAheadOfThePlan fills a real file system while the plan is made: the
// error is said in its own words, though it ended the plan.
func TestFailureAheadOfThePlan(t *testing.T) {
	mnt := smallDisk(t)
	src, dir := wavFolder(t, 400), filepath.Join(mnt, "d")
	o := run(t, melArgs(src, dir)...)
	if o.code != exitFailed || !strings.Contains(o.stderr, "no space left") || strings.Contains(o.stderr, "context canceled") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
	if err := syscall.Mount("tmpfs", mnt, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	ok(t, melArgs(src, dir)...)
	ok(t, "verify", dir, "--read-data")
	sameTree(t, "filled", tree(t, dir), undisturbed(t, func(d string) []string { return melArgs(src, d) }))
}
