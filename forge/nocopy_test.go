//go:build linux && amd64

package forge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// ring is an engine whose frames lie in that memory, as a GPU's do.
func ring(e mel.Engine, memory []byte) mel.Engine {
	var used atomic.Int64
	return &otherwise{e, func(ctx context.Context, c mel.Clip) (mel.Mel, error) {
		m, err := c.Compute(ctx)
		if err != nil {
			return m, err
		}
		end := used.Add(int64(2 * len(m.Frames)))
		own := unsafe.Slice((*uint16)(unsafe.Pointer(&memory[end-int64(2*len(m.Frames))])), len(m.Frames))
		copy(own, m.Frames)
		m.Frames = own
		return m, nil
	}}
}

const tracedClips = 30

// traced makes a shard of clips that all pass, in a process that is traced. It
// says where the engine's memory is.
func traced(t *testing.T) {
	b := newBench(t, tracedClips)
	if err := os.WriteFile(b.folder.Path("2.wav"), tone(16000, 4002), 0o644); err != nil {
		t.Fatal(err)
	}
	memory, err := syscall.Mmap(-1, 0, 8<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	b.forge = New(tts.Open(tts.Options{}), ring(b.forge.engine, memory), 2, new(Progress))
	if r := b.make(t); len(r.Made) != tracedClips {
		t.Fatalf("made %+v", r)
	}
	fmt.Printf("ring %d %d\n", uintptr(unsafe.Pointer(&memory[0])), len(memory))
}

// TestNoCopy shows that frames are written to the file from the engine's memory:
// it makes a shard in a process whose every system call it looks at, and wants
// each row to be one pwrite from there.
func TestNoCopy(t *testing.T) {
	if os.Getenv("MELFORGE_TRACED") != "" {
		traced(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoCopy$")
	cmd.Env = append(os.Environ(), "MELFORGE_TRACED=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	writes := pwrites(t, cmd)
	_, said, _ := strings.Cut(out.String(), "ring ")
	var start, size uint64
	if _, err := fmt.Sscan(said, &start, &size); err != nil {
		t.Fatalf("the traced process: %v\n%s", err, &out)
	}
	c, err := mel.Preset("whisper-80")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, w := range writes {
		within := w.address >= start && w.address+w.size <= start+size
		if within {
			direct++
		}
		for i := range tracedClips {
			if row := uint64(2 * c.NMels * c.Frames(4000+i)); w.size == row && !within {
				t.Fatalf("a row of %d bytes was written from %#x, which is not the engine's memory at %#x", row, w.address, start)
			}
		}
	}
	if direct != tracedClips {
		t.Errorf("%d of %d rows were written from the engine's memory", direct, tracedClips)
	}
}

// pwrite is a call of the system.
type pwrite struct{ address, size uint64 }

// pwrites runs a command and lists its calls of pwrite, of all its threads.
func pwrites(t *testing.T, cmd *exec.Cmd) []pwrite {
	t.Helper()
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Skipf("this process may not trace another: %v", err)
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	const sysgood, exitKill = 1, 1 << 20
	if err := syscall.PtraceSetOptions(pid, sysgood|exitKill|syscall.PTRACE_O_TRACECLONE); err != nil {
		t.Fatal(err)
	}
	var all []pwrite
	inside := map[int]bool{} // threads that are in a call
	signal := 0
	for thread := pid; ; {
		if err := syscall.PtraceSyscall(thread, signal); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
		var err error
		if thread, err = syscall.Wait4(-pid, &status, syscall.WALL, nil); err != nil {
			break // nobody is left
		}
		signal = 0
		switch {
		case !status.Stopped():
		case status.StopSignal() == syscall.SIGTRAP|0x80:
			var regs syscall.PtraceRegs
			if err := syscall.PtraceGetRegs(thread, &regs); err == nil && !inside[thread] && regs.Orig_rax == syscall.SYS_PWRITE64 {
				all = append(all, pwrite{regs.Rsi, regs.Rdx})
			}
			inside[thread] = !inside[thread]
		case status.StopSignal() != syscall.SIGTRAP && status.StopSignal() != syscall.SIGSTOP:
			signal = int(status.StopSignal())
		}
	}
	_ = cmd.Wait() // for its output; its end was seen above
	return all
}
