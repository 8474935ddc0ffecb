package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFirst wants the first call to be part of starting: a child that fails it
// has not started, and one that is restarted gets it again.
func TestFirst(t *testing.T) {
	for first, want := range map[string]string{
		"fail no room": "no room",
		"exit":         "did not start: exit status 3; it said: going down",
		"kill":         "did not start: signal: killed",
	} {
		o := options("worker")
		o.First = []byte(first)
		p, err := Start(t.Context(), o)
		if p != nil || err == nil || isDied(err) || !strings.Contains(err.Error(), "did not start") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", first, err)
		}
	}
	o := options("worker")
	file := filepath.Join(t.TempDir(), "firsts")
	o.First = []byte("note " + file)
	s := supervise(t, o, 1)
	for _, call := range []string{"kill", "echo a"} {
		_, err := s.Call(t.Context(), []byte(call))
		if isDied(err) != (call == "kill") || err != nil && !isDied(err) {
			t.Errorf("%s: %v", call, err)
		}
	}
	// Killed beside others, and alone, and then there was a third.
	if n := attempt(file) - 1; n != 3 {
		t.Errorf("the first call was made %d times, want 3", n)
	}
}

func TestAdopt(t *testing.T) {
	o := options("worker")
	p, err := Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.First = []byte("echo")
	s := Supervise(o, 1)
	s.Adopt(p)
	if _, err := s.Call(t.Context(), []byte("echo a")); err != nil || s.child != p {
		t.Errorf("%v, %p instead of %p", err, s.child, p)
	}
	if err := s.Close(); err != nil || !p.gone() {
		t.Errorf("%v, gone %v", err, p.gone())
	}
	// One that nobody needed goes too.
	if p, err = Begin(t.Context(), options("about")); err != nil {
		t.Fatal(err)
	}
	if string(p.About()) != "a test" {
		t.Errorf("it said of itself %q", p.About())
	}
	s = Supervise(o, 1)
	s.Adopt(p)
	if err := s.Close(); err != nil || !p.gone() {
		t.Errorf("%v, gone %v", err, p.gone())
	}
}

// TestParent lets a child answer in another order.
func TestParent(t *testing.T) {
	p := start(t, options("about"))
	a, err := p.begin(t.Context(), []byte("a"), 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Call(t.Context(), []byte("b"))
	if err != nil || string(b) != "b" {
		t.Errorf("%q, %v", b, err)
	}
	if got, err := a.wait(t.Context()); err == nil || got != nil || !strings.Contains(err.Error(), "a came first") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestInheritedWantsASocket keeps a worker that somebody starts by hand from
// writing into whatever file has the socket's number.
func TestInheritedWantsASocket(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, extra := range [][]*os.File{nil, {file}} {
		cmd := exec.Command(exe)
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), role+"=about"), extra
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), "no socket from a parent") {
			t.Errorf("with %d files: %s, %v", len(extra), said, err)
		}
	}
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("%d bytes were written, %v", info.Size(), err)
	}
}
