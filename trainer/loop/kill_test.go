package loop

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/melforge/melforge/commit"
)

// The victim of these tests is this test binary, started again to train into
// the folder that victim names, and killed.
const (
	victim = "LOOP_TEST_VICTIM_DIR"
	dieAt  = "LOOP_TEST_VICTIM_DIES_AT" // "step", or a point of a commit, and after how many
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		if err := trainVictim(dir, os.Getenv(dieAt)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func trainVictim(dir, at string) error {
	point, after, _ := strings.Cut(at, ":")
	left, err := strconv.Atoi(after)
	if err != nil {
		return err
	}
	reach := func(p string) {
		if p != point {
			return
		}
		if left--; left < 0 {
			fmt.Println("kill me")
			select {}
		}
	}
	commit.OnReach(reach)
	b, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		return err
	}
	o := options(b, dir)
	o.OnStep = func(Step) { reach("step") }
	l, err := New(o)
	if err != nil {
		return err
	}
	_, err = l.Run(context.Background())
	return err
}

// kill starts a victim, waits until it is where it is to die, and kills it.
func kill(t *testing.T, dir, at string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+dir, dieAt+"="+at)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "kill me" {
		t.Fatalf("%s was never reached: %v", at, cmd.Wait())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("%s: it ended by itself: %v", at, err)
	}
}

// TestKilled kills a run with SIGKILL after steps, and before and after every
// rename of its second checkpoint, and wants the rest to be that of a run that
// was never disturbed.
func TestKilled(t *testing.T) {
	want := losses(t, options(backend(t), ""), false)
	for at, from := range map[string]int{
		"step:4": 4, "step:8": 8, "step:14": 12,
		"checkpoint.before-rename:1": 4, "checkpoint.after-rename:1": 4,
		"checkpoint-index.before-rename:1": 4, "checkpoint-index.after-rename:1": 8,
	} {
		dir := t.TempDir()
		kill(t, dir, at)
		got := losses(t, options(backend(t), dir), true)
		if len(got) != 20-from {
			t.Errorf("killed at %s: %d steps were left, want %d", at, len(got), 20-from)
		}
		for step, loss := range got {
			if loss != want[step] {
				t.Errorf("killed at %s: step %d has loss %v, undisturbed %v", at, step, loss, want[step])
			}
		}
		steps, err := readSteps(filepath.Join(dir, stepsName), 100)
		if err != nil || len(steps) != 20 {
			t.Errorf("killed at %s: the journal has %d steps, error %v", at, len(steps), err)
		}
	}
}
