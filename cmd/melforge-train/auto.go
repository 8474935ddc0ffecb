package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/melforge/melforge/trainer/loop"
)

// maxAutoBatch bounds what --batch auto tries.
const maxAutoBatch = 4096

// autoBatch finds the largest batch for which try finds room: it grows by what a
// card's memory suggests, or else doubles, until there is none, and then closes
// in on the limit. Every try compiles a graph, so there should be few.
func autoBatch(ctx context.Context, memory func(context.Context) (used, total float64, ok bool), try func(clips int) error) (int, error) {
	good, bad := 0, maxAutoBatch+1
	for n := 8; n > good && n < bad; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err := try(n)
		switch {
		case err == nil:
			good = n
		case loop.OutOfMemory(err):
			bad = n
		default:
			return 0, err
		}
		if good == 0 { // not even that
			n = bad / 2
			continue
		}
		if bad-good <= max(1, good/8) {
			break
		}
		if bad <= maxAutoBatch {
			n = even((good + bad) / 2)
			continue
		}
		n = grow(ctx, good, memory)
	}
	if good == 0 {
		return 0, fmt.Errorf("not even one clip fits the card's memory: use --checkpointing, --dtype bfloat16 or a smaller model")
	}
	return good, nil
}

// grow is the size to try after one that fits.
func grow(ctx context.Context, good int, memory func(context.Context) (used, total float64, ok bool)) int {
	next := 2 * good
	if used, total, ok := memory(ctx); ok && used > 0 {
		// The allocator takes memory in large pieces, so this is on the safe side.
		next = max(next, even(min(8*good, int(float64(good)*memoryPart*total/used))))
	}
	return min(next, maxAutoBatch)
}

// even rounds down to a multiple of 8 where that leaves something.
func even(n int) int {
	if n >= 16 {
		return n / 8 * 8
	}
	return max(1, n)
}

// cardMemory asks the driver's tool for the memory of the first card, in MiB.
func cardMemory(ctx context.Context) (used, total float64, ok bool) {
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return 0, 0, false
	}
	line, _, _ := strings.Cut(string(out), "\n")
	a, b, found := strings.Cut(line, ",")
	used, err1 := strconv.ParseFloat(strings.TrimSpace(a), 64)
	total, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	return used, total, found && err1 == nil && err2 == nil
}
