package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/melforge/melforge/commit"
)

// crashAt kills this process with SIGKILL at a commit point, for the tests
// that prove that nothing is lost there. The spec is "point" or "point:n" for
// the n-th time it is reached.
func crashAt(spec string) {
	if spec == "" {
		return
	}
	point, nth, _ := strings.Cut(spec, ":")
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		n = 1
	}
	var left atomic.Int64
	left.Store(n)
	commit.OnReach(func(p string) {
		if p == point && left.Add(-1) == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	})
}
