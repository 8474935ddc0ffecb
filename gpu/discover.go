package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/melforge/melforge/gpu/wire"
)

// Device is a GPU of this machine. One with a Problem is not used.
type Device = wire.Device

// Unavailable is why no GPU can be used, and what to do about it.
type Unavailable struct {
	Reason, Remedy string
}

// Error implements error.
func (u *Unavailable) Error() string { return u.Reason + ": " + u.Remedy }

// probeTime is how long a driver may take to say what it has.
const probeTime = 30 * time.Second

// Discover lists the GPUs of this machine by asking the worker, since only it
// links CUDA. An error is an *Unavailable.
func Discover(ctx context.Context, workerPath string) ([]Device, error) {
	return discover(ctx, Options{Worker: workerPath})
}

func discover(ctx context.Context, o Options) ([]Device, error) {
	var devices []Device
	if err := ask(ctx, o, &devices, "--probe"); err != nil {
		return nil, err
	}
	if len(devices) == 0 {
		return nil, errNone
	}
	return devices, nil
}

var errNone = &Unavailable{Reason: "the driver shows no GPU", Remedy: "check nvidia-smi and CUDA_VISIBLE_DEVICES, or compute with --engine cpu"}

// choose returns the devices to use.
func choose(ctx context.Context, o Options) ([]Device, error) {
	all, err := discover(ctx, o)
	if err != nil {
		return nil, err
	}
	return o.of(all)
}

// of returns the devices to use of all.
func (o Options) of(all []Device) ([]Device, error) {
	if len(all) == 0 {
		return nil, errNone
	}
	var chosen []Device
	var problems []string
	for _, d := range all {
		switch {
		case o.Devices != nil && !slices.Contains(o.Devices, d.Index):
		case d.Problem != "":
			problems = append(problems, fmt.Sprintf("GPU %d (%s): %s", d.Index, d.Name, d.Problem))
		default:
			chosen = append(chosen, d)
		}
	}
	for _, i := range o.Devices {
		if i < 0 || i >= len(all) {
			return nil, &Unavailable{Reason: fmt.Sprintf("there is no GPU %d", i), Remedy: fmt.Sprintf("choose of 0 to %d with --devices", len(all)-1)}
		}
	}
	if len(chosen) == 0 {
		return nil, &Unavailable{Reason: "no GPU is usable: " + strings.Join(problems, "; "), Remedy: "compute with --engine cpu"}
	}
	for _, p := range problems {
		o.log("warning: left out: %s", p)
	}
	return chosen, nil
}

// ask runs the worker for an answer in JSON.
func ask(ctx context.Context, o Options, answer any, args ...string) error {
	if o.Worker == "" {
		return explain(errNoWorker)
	}
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	cmd := exec.CommandContext(ctx, o.Worker, args...)
	cmd.Env = o.env
	cmd.WaitDelay = time.Second
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return explain(fmt.Errorf("%w; it said: %s", err, strings.TrimSpace(out.String()+words.String())))
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return noAnswer(err)
	}
	return nil
}

// noAnswer is a worker whose answer is none.
func noAnswer(err error) error {
	return &Unavailable{Reason: fmt.Sprintf("melforge-cuda gave no answer: %v", err), Remedy: "use the programs of one release"}
}

var errNoWorker = fmt.Errorf("melforge-cuda: %w", fs.ErrNotExist)

// explain finds the reason in how the worker failed and what it said.
func explain(err error) error {
	said := err.Error()
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(said, p) })
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		return &Unavailable{Reason: "melforge-cuda is not there", Remedy: "build it where the CUDA headers are (package nvidia-cuda-dev) and put it beside melforge, or compute with --engine cpu"}
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &Unavailable{Reason: fmt.Sprintf("the driver did not answer within %v", probeTime), Remedy: "check nvidia-smi and the kernel's log, restart the machine, or compute with --engine cpu"}
	case has("libcuda.so"):
		return &Unavailable{Reason: "the NVIDIA driver is not installed (no libcuda.so.1)", Remedy: "install it, or compute with --engine cpu"}
	case has("NoDevice", "no CUDA-capable device"):
		return errNone
	case has("Error in initialization"):
		return &Unavailable{Reason: "CUDA does not initialise: " + said, Remedy: "check nvidia-smi and that the driver fits the kernel, or compute with --engine cpu"}
	}
	return &Unavailable{Reason: "melforge-cuda failed: " + said, Remedy: "check nvidia-smi, or compute with --engine cpu"}
}
