package main

import (
	"errors"
	"syscall"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer/loop"
)

// Exit codes. exitHelp says the same to people.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    done
  1    failed; checkpoints are kept, --resume goes on from the last one
  2    usage: a flag, the dataset, the model or the checkpoint does not fit; nothing was trained
  130  interrupted; a checkpoint was written, --resume goes on from it`

var errInterrupted = errors.New("interrupted")

// exit reports an error and gives the process its exit code.
func (a *app) exit(err error) int {
	var usage *terminal.Usage
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted) || errors.Is(err, loop.ErrInterrupted):
		a.ui.Interrupted("nothing was trained", "a checkpoint was written")
		return exitInterrupted
	case errors.As(err, &usage):
		a.ui.Fail(err, "melforge-train help shows the commands and their flags")
		return exitUsage
	case loop.OutOfMemory(err):
		a.ui.Fail(err, "use a smaller --batch with a larger --accumulate, --checkpointing, or --batch auto")
		return exitFailed
	case errors.Is(err, syscall.ENOSPC):
		a.ui.Fail(err, "free some space and go on with --resume")
		return exitFailed
	default:
		a.ui.Fail(err, "")
		return exitFailed
	}
}
