//go:build cuda

// Command melforge-cuda is the worker that computes mels on a GPU. melforge
// starts one for each device, feeds it and restarts it; it is not for the
// command line, but for --probe, which lists the GPUs.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/device"
	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "melforge-cuda:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("melforge-cuda", flag.ContinueOnError)
	probe := flags.Bool("probe", false, "print the GPUs as JSON and exit")
	bench := flags.Bool("bench", false, "measure the device of the setup, print the rates as JSON and exit")
	bandwidth := flags.Bool("bandwidth", false, "measure the bus of the setup's device, print it as JSON and exit")
	check := flags.Bool("selftest", false, "compare a device, of the setup or the first, with the reference and exit")
	setup := flags.String("setup", "", "what to compute on which device, as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *probe {
		devices, err := device.Probe()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(devices)
	}
	runtime.LockOSThread() // CUDA's context belongs to a thread
	if *check {
		var s wire.Setup
		if *setup != "" {
			if err := json.Unmarshal([]byte(*setup), &s); err != nil {
				return fmt.Errorf("setup: %w", err)
			}
		}
		return selftest(s)
	}
	if *setup == "" {
		return errors.New("melforge starts this program, nobody else; try --probe")
	}
	s, err := wire.DecodeSetup(*setup)
	if err != nil {
		return err
	}
	if *bench {
		return measure(s, func(d *device.Device) (any, error) { return d.Bench(device.NewQueue(d)) })
	}
	if *bandwidth {
		return measure(s, func(d *device.Device) (any, error) { return d.Bandwidth() })
	}
	return serve(s)
}

// serve computes for the parent until it goes away.
func serve(s wire.Setup) error {
	memory, err := worker.OpenMemory(s.Memory, s.Layout.Bytes())
	if err != nil {
		return err
	}
	conn, err := worker.Inherited()
	if err != nil {
		return fmt.Errorf("melforge starts this program, nobody else: %w", err)
	}
	d, err := device.Open(s, memory.Bytes())
	if err != nil {
		return err
	}
	q := device.NewQueue(d)
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		failed <- worker.Serve(conn, q.Handle)
		close(stop)
	}()
	if err := q.Run(stop); err != nil {
		return err
	}
	return <-failed
}

// measure prints what rates says of the setup's device.
func measure(s wire.Setup, rates func(*device.Device) (any, error)) error {
	memory, err := worker.NewMemory(s.Layout.Bytes())
	if err != nil {
		return err
	}
	device.Fill(s.Layout, memory.Bytes())
	d, err := device.Open(s, memory.Bytes())
	if err != nil {
		return err
	}
	r, err := rates(d)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
