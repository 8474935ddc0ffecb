// Command melforge-train trains speech recognisers on a dataset that melforge
// made: it only reads mels, and says how long it waited for them.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		// After the first signal the second one ends the process at once.
		<-ctx.Done()
		stop()
	}()
	a := newApp(os.Stdout, os.Stderr)
	a.root.SetArgs(os.Args[1:])
	err := a.root.ExecuteContext(ctx)
	if ctx.Err() != nil && err != nil {
		err = errors.Join(errInterrupted, err)
	}
	os.Exit(a.exit(err))
}
