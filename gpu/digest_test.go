package gpu

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	digest  = flag.String("digest", "", "file that holds, or gets, a digest of what the engine computes")
	disturb = flag.String("disturb", "", "program that fills the device, prints a line and stays; then the worker is killed")
)

// TestDigest wants the bytes that another run of it gave, whatever disturbed
// either: other programs that fill the device, a lower level, smaller batches, a card that another program fills in the middle.
func TestDigest(t *testing.T) {
	if *digest == "" {
		t.Skip("no -digest is given")
	}
	sum := sha256.New()
	disturbed := func(i int) {
		if i == 200 && *disturb != "" {
			fillAndKill(t, *disturb)
		}
	}
	for _, m := range computeAll(t, start(t, options(t, "worker"), "whisper-80"), lengths(400), 16, disturbed) {
		if err := binary.Write(sum, binary.LittleEndian, append(m.Frames, m.Pad)); err != nil {
			t.Fatal(err)
		}
	}
	got := fmt.Sprintf("%x", sum.Sum(nil))
	want, err := os.ReadFile(*digest)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(*digest, []byte(got), 0o600)
		want = []byte(got)
	}
	if err != nil || string(want) != got {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}

// fillAndKill has another program fill the device and kills the worker, so that
// its successor finds less memory than it had.
func fillAndKill(t *testing.T, program string) {
	workers := children()
	filler := exec.Command("/bin/sh", "-c", program)
	filler.Stderr = os.Stderr
	filler.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	out, err := filler.StdoutPipe()
	if err == nil {
		err = filler.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-filler.Process.Pid, unix.SIGKILL) // it may be gone
		_ = filler.Wait()                                // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	t.Logf("%s", line)
	for _, pid := range workers {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Errorf("kill %d: %v", pid, err)
		}
	}
}
