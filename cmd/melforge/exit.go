package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

// Exit codes. exitHelp says the same to people.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRejects     = 3
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    done
  1    failed; what was complete is kept, the same command goes on from there
  2    usage: a flag, an argument or the configuration is wrong
  3    done, but more lines were rejected than --max-rejects allows
  130  interrupted; the same command goes on from there`

var errInterrupted = errors.New("interrupted")

// rejectsError is a finished run with too many rejects.
type rejectsError struct {
	rejects, lines int
	limit          string
	file           string
}

func (r *rejectsError) Error() string {
	return fmt.Sprintf("%d of %d lines were rejected, more than --max-rejects %s allows: see %s", r.rejects, r.lines, r.limit, r.file)
}

// problemsError is a verification that found something. The problems were
// reported as they were found.
type problemsError struct {
	n   int
	dir string
}

func (p *problemsError) Error() string {
	return fmt.Sprintf("%d problems found in %s: run the command that made it again with --repair", p.n, p.dir)
}

// exit reports an error and gives the process its exit code.
func (a *app) exit(err error) int {
	var usage *terminal.Usage
	var rejects *rejectsError
	var other *exited
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		a.ui.Interrupted("nothing was begun", "what is complete is kept")
		return exitInterrupted
	case errors.As(err, &other):
		return other.code
	case errors.As(err, &usage):
		a.ui.Fail(err, "melforge help shows the commands and their flags")
		return exitUsage
	case errors.As(err, &rejects):
		a.ui.Fail(err, "")
		return exitRejects
	case errors.Is(err, syscall.ENOSPC):
		a.ui.Fail(err, "free some space and run the same command again: what is complete is kept")
		return exitFailed
	default:
		a.ui.Fail(err, "")
		return exitFailed
	}
}
