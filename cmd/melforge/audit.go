package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/python"
)

func (a *app) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use: "audit SCRIPT [flags] [-- arguments of the script]", Short: "Find what a PyTorch training script waits for",
		Example:            "  melforge audit train.py -- --epochs 1\n  melforge audit train.py --scan",
		DisableFlagParsing: true, // they are the audit's own, which Python explains
		RunE: func(cmd *cobra.Command, args []string) error {
			return audit(cmd.Context(), args)
		},
	}
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
