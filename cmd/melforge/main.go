// Command melforge turns a corpus of texts into mels for training: text to
// speech, log-mel features and FP16 HDF5 shards, once, before training starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx" // registers the runners and their flags
	"github.com/rs/zerolog"

	"github.com/melforge/melforge/transforms"
)

func main() {
	crashAt(os.Getenv("MELFORGE_CRASH_AT"))
	if isBeamWorker(os.Args[1:]) {
		serveBeam()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		// After the first signal the second one ends the process at once.
		<-ctx.Done()
		stop()
	}()
	a := newApp(os.Stdout, os.Stderr)
	err := a.execute(ctx, os.Args[1:])
	if ctx.Err() != nil && err != nil {
		err = errors.Join(errInterrupted, err)
	}
	os.Exit(a.exit(err))
}

// isBeamWorker reports whether a runner started this binary as its worker.
func isBeamWorker(args []string) bool {
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "worker", "worker=true":
			return strings.HasPrefix(a, "-")
		}
	}
	return false
}

// serveBeam works for a runner until it hangs up.
func serveBeam() {
	flag.Parse()
	// The plan has looked at the scripts already.
	log := zerolog.New(os.Stderr)
	voices, err := locate().voices(log, runtime.NumCPU(), true)
	if err != nil {
		fmt.Fprintln(os.Stderr, "melforge:", err)
		os.Exit(exitUsage)
	}
	defer voices.Close()
	p := transforms.Open(host(voices, log))
	defer p.Close()
	go endWithParent()
	beam.Init() // does not return in a worker
}

// endWithParent ends this worker when what started it is gone: Beam's worker
// pool ends the boot loader and forgets the worker, which would hold its
// voices and its GPU for ever.
func endWithParent() {
	parent := os.Getppid()
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(exitInterrupted)
		}
	}
}
