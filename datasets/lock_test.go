package datasets

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLockOutlivesItsHolder has a child keep the lock of a process that is gone,
// as a child does that was just being started when its parent was killed.
func TestLockOutlivesItsHolder(t *testing.T) {
	f := At(t.TempDir())
	if err := f.Prepare(); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skipf("the program true is not there: %v", err)
	}
	lock, err := os.OpenFile(f.Path(workDir+"/lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(lock, "process %d\n", gone.Process.Pid)
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{lock}
	end, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skipf("the program cat is not there: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	go end.Close() // lets the child end, and the lock with it
	l, err := f.Lock()
	if err != nil {
		t.Fatalf("the lock of a dead process is in the way: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
