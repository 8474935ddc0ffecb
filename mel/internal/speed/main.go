// Command speed times the CPU engine for scripts/bench-peers. It is given a
// preset's name, a number of threads and a file of clips of equal length, one
// after another as int16; and that length. For each line on standard input it
// computes all clips once and prints the nanoseconds that took. The first line
// it prints is the floor: nanoseconds that one core would need for the
// arithmetic of all clips if it did nothing else.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/mel/internal/peak"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("give a preset, a number of threads, a file and a length")
	}
	c, err := mel.Preset(args[0])
	if err != nil {
		return err
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	samples := unsafe.Slice((*int16)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/2)
	runtime.GOMAXPROCS(threads)
	e, err := mel.NewCPU(c, threads)
	if err != nil {
		return err
	}
	defer e.Close()
	rate, lanes := peak.Vectors()
	floor := 0.0
	if lanes > 0 {
		frames := float64(len(samples) / n * c.Frames(n))
		floor = frames * mel.Operations(c) * float64(8/lanes) / rate
	}
	fmt.Printf("%.0f\n", floor)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		start := time.Now()
		if err := all(e, samples, n, threads); err != nil {
			return err
		}
		fmt.Println(time.Since(start).Nanoseconds())
	}
	return nil
}

// all computes every clip once.
func all(e mel.Engine, samples []int16, n, threads int) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, threads)
	for i := range threads {
		wg.Go(func() {
			for {
				at := int(next.Add(1)-1) * n
				if at+n > len(samples) || errs[i] != nil {
					return
				}
				errs[i] = one(e, samples[at:at+n])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func one(e mel.Engine, samples []int16) error {
	clip, err := e.Clip(context.Background(), len(samples))
	if err != nil {
		return err
	}
	defer clip.Release()
	copy(clip.Samples(), samples)
	_, err = clip.Compute(context.Background())
	return err
}
