package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/python"
)

func (a *app) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit SCRIPT [-- arguments of the script]", Short: "Find what a PyTorch training script waits for",
		Long: `Reads a training script and the modules beside it for what keeps a GPU waiting,
runs it for some steps in the Python that is in the PATH, and says how long
each step waited for data and in which lines that time went. Exits with 3
where --max-waiting is passed, and with 1 where the script fails before a step.`,
		Example: `  melforge audit train.py                            # read it, and run it for 20 steps
  melforge audit train.py --steps 50 -- --epochs 1   # what follows -- is the script's
  melforge audit train.py --scan                     # only read it
  melforge audit train.py --max-waiting 5 --json     # for a check that fails`,
		RunE: func(cmd *cobra.Command, args []string) error {
			theirs := []string{"--"}
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, theirs = args[:n], append(theirs, args[n:]...)
			}
			if len(args) != 1 {
				return terminal.Usagef("audit takes one script; its own arguments come after --")
			}
			return audit(cmd.Context(), slices.Concat(args, given(cmd), theirs))
		},
	}
	f := cmd.Flags()
	f.Int("steps", 20, "how many to measure; then the script is ended")
	f.Int("warmup", 3, "steps before those")
	f.Bool("scan", false, "only read the source, run nothing")
	f.Float64("max-waiting", 0, "exit with 3 if more than this per cent of the time is waiting for data (default: never)")
	f.String("trace", "", "write the steps to this file, for Perfetto or chrome://tracing to draw")
	return cmd
}

// given is the flags that were given, as Python takes them.
func given(cmd *cobra.Command) (args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "config" || f.Name == "log-level": // ours alone
		case f.Value.Type() != "bool":
			args = append(args, "--"+f.Name+"="+f.Value.String())
		case f.Value.String() == "true":
			args = append(args, "--"+f.Name)
		}
	})
	return args
}

// exited is another program that has said what was wrong.
type exited struct{ code int }

func (e *exited) Error() string { return fmt.Sprintf("ended with %d", e.code) }

// audit runs the audit in the Python that runs the script: it has the script's
// packages, and needs none of ours.
func audit(ctx context.Context, args []string) (err error) {
	interpreter, err := findPython()
	if err != nil {
		return err
	}
	source, err := python.Audit()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "melforge-audit-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	const name = "melforge_audit" // not that of a package that may be installed
	if err := os.CopyFS(filepath.Join(folder, name), source); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, interpreter, append([]string{"-m", name}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	path := folder
	if there := os.Getenv("PYTHONPATH"); there != "" {
		path += string(filepath.ListSeparator) + there
	}
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path)
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.Exited() {
		return &exited{failed.ExitCode()}
	}
	return err
}

// findPython finds the Python of the environment that is active.
func findPython() (string, error) {
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no python3 in the PATH: activate the environment that the script runs in")
}
