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
	"io"
	"os"
	"runtime"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/device"
	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fail(err)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("melforge-cuda", flag.ContinueOnError)
	probe := flags.Bool("probe", false, "print the GPUs as JSON and exit")
	bench := flags.Bool("bench", false, "measure the device of the setup, print the rates as JSON and exit")
	bandwidth := flags.Bool("bandwidth", false, "measure the bus of the setup's device, print it as JSON and exit")
	check := flags.Bool("selftest", false, "compare a device, of the setup or the first, with the reference and exit")
	setup := flags.String("setup", "", "what to measure or compare on which device, as JSON")
	index := flags.Int("device", -1, "serve melforge with this device")
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
	if *index >= 0 {
		return serve(*index)
	}
	if *setup == "" {
		return errors.New("melforge starts this program, nobody else; try --probe")
	}
	s, err := wire.DecodeSetup(*setup)
	if err != nil {
		return err
	}
	if *bench {
		return measure(s, func(d *device.Device) (any, error) { return d.Bench(device.NewQueue(d, fail)) })
	}
	if *bandwidth {
		return measure(s, func(d *device.Device) (any, error) { return d.Bandwidth() })
	}
	return errors.New("what is the setup for: --bench, --bandwidth or --selftest?")
}

// serve computes for the parent until it goes away. It says which devices there
// are, and while the parent looks at them it makes a context of the one that it is
// to be.
func serve(index int) error {
	devices, err := device.Probe()
	if err != nil {
		return err
	}
	about, err := json.Marshal(devices)
	if err != nil {
		return err
	}
	conn, err := worker.Inherited()
	if err != nil {
		return fmt.Errorf("melforge starts this program, nobody else: %w", err)
	}
	parent, err := worker.Greet(conn, about)
	if err != nil {
		return err
	}
	context, wrong := device.NewContext(index)
	id, request, err := parent.Next()
	if err == io.EOF {
		return nil // it wants another device
	}
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	d, err := open(context, string(request))
	if err != nil {
		return err
	}
	if err := parent.Reply(id, nil, nil); err != nil {
		return err
	}
	return d.serve(parent)
}

// served is a device and how the parent's memory is divided.
type served struct {
	queue  *device.Queue
	layout wire.Layout
}

// open makes the device ready that the parent's first call describes.
func open(c *device.Context, setup string) (*served, error) {
	s, err := wire.DecodeSetup(setup)
	if err != nil {
		return nil, err
	}
	memory, err := worker.OpenMemory(s.Memory, s.Layout.Bytes())
	if err != nil {
		return nil, err
	}
	d, err := c.Open(s, memory.Bytes())
	if err != nil {
		return nil, err
	}
	return &served{device.NewQueue(d, fail), s.Layout}, nil
}

// serve takes one batch after the other. Calls that nobody waits for any more are
// computed too: until the device is done with a slot it must not be used again.
func (s *served) serve(parent *worker.Parent) error {
	for {
		id, request, err := parent.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := wire.DecodeBatch(request, s.layout)
		if err != nil {
			if err := parent.Reply(id, nil, err); err != nil {
				return err
			}
			continue
		}
		err = s.queue.Start(b, func(t wire.Timing) {
			if err := parent.Reply(id, t.Encode(), nil); err != nil {
				fail(err)
			}
		})
		if err != nil {
			return err
		}
	}
}

// fail ends the process: nothing can be computed in it any more.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "melforge-cuda:", err)
	os.Exit(1)
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
