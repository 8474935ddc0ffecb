package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func supervise(t *testing.T, o Options, limit int) *Supervisor {
	t.Helper()
	s := Supervise(o, limit)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSupervisorFindsTheGuilty(t *testing.T) {
	dir := t.TempDir()
	var logged []string
	o := options("worker")
	var mu sync.Mutex
	o.Log = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, line)
	}
	s := supervise(t, o, 4)
	killer := filepath.Join(dir, "killer")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := ask(t, s, "killer "+killer); !isDied(err) {
			t.Errorf("the killer got %v, want a Died", err)
		}
	})
	for i := range 3 {
		wg.Go(func() {
			running, err := ask(t, s, fmt.Sprint("victim ", filepath.Join(dir, fmt.Sprint(i))))
			if err != nil || running != "1" {
				t.Errorf("victim %d: %q running, want 1; %v", i, running, err)
			}
		})
	}
	wg.Wait()
	// Together, perhaps after an innocent call, and alone in a fresh child.
	if info, err := os.Stat(killer); err != nil || info.Size() < 2 || info.Size() > 3 {
		t.Errorf("the killer was tried %v times (%v), want 2 or 3", info.Size(), err)
	}
	if got, err := ask(t, s, "echo on we go"); err != nil || got != "on we go" {
		t.Errorf("after it all: %q, %v", got, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(strings.Join(logged, "\n"), "restarting: worker") {
		t.Errorf("no restart in the log: %q", logged)
	}
}

func TestSupervisorManyKillers(t *testing.T) {
	s := supervise(t, options("worker"), 3)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if i%4 == 0 {
				if _, err := ask(t, s, "exit"); !isDied(err) {
					t.Errorf("killer %d: %v", i, err)
				}
				return
			}
			want := fmt.Sprint("number ", i)
			if got, err := ask(t, s, "echo "+want); err != nil || got != want {
				t.Errorf("call %d: %q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestSupervisorTimeout(t *testing.T) {
	o := options("worker")
	o.Timeout = 50 * time.Millisecond
	s := supervise(t, o, 1)
	_, err := ask(t, s, "hang")
	var died *Died
	if !errors.As(err, &died) || died.Timeout == 0 {
		t.Errorf("%v, want a Died with the timeout", err)
	}
}

func TestSupervisorCannotStart(t *testing.T) {
	s := supervise(t, options("stillborn"), 2)
	if _, err := ask(t, s, "echo x"); err == nil || isDied(err) {
		t.Errorf("%v, want a plain error", err)
	}
}

// A caller that gives up must neither free its seat while the child still
// works, nor keep it for ever.
func TestSupervisorCancel(t *testing.T) {
	s := supervise(t, options("worker"), 1)
	sign := filepath.Join(t.TempDir(), "cancelled")
	if _, err := ask(t, s, "echo warm"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, []byte("wait "+sign)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want deadline exceeded", err)
	}
	if got, err := ask(t, s, "echo next"); err != nil || got != "next" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(sign); err != nil {
		t.Errorf("the next call ran beside the abandoned one: %v", err)
	}
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(dead, []byte("echo x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
}

func TestSupervisorClose(t *testing.T) {
	s := Supervise(options("worker"), 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, s, "echo x"); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}

func TestGateOwnGivesUp(t *testing.T) {
	g := newGate(2)
	leave, err := g.share(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.own(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want canceled", err)
	}
	leave()
	leave, err = g.own(t.Context())
	if err != nil {
		t.Fatalf("a seat was lost: %v", err)
	}
	leave()
}
