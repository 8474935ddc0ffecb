package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/datasets"
)

func (a *app) verifyCommand() *cobra.Command {
	var readData bool
	cmd := &cobra.Command{
		Use: "verify DIR", Short: "Check that a dataset is whole and right", Args: terminal.OneArg("dataset's folder"),
		Long: `Checks that every file that dataset.json names exists, has its size and checksum,
opens, has its shape and agrees with the manifest. Whatever does not is named,
and the exit code is 1.

--read-data also reads every wav and every frame.`,
		Example: `  melforge verify dataset
  melforge verify dataset --read-data --json`,
		RunE: func(_ *cobra.Command, args []string) error { return a.verify(args[0], readData) },
	}
	cmd.Flags().BoolVar(&readData, "read-data", false, "also read every wav and every frame")
	return cmd
}

func (a *app) verify(dir string, readData bool) error {
	tick := newTicker()
	r, err := datasets.At(dir).Verify(datasets.VerifyOptions{
		ReadData: readData,
		Progress: func(r datasets.Report) {
			if tick.due() && a.ui.TTY && !a.ui.JSON {
				a.ui.Status(fmt.Sprintf("verifying: %s wavs, %d shards", count(r.Wavs), r.Shards))
			}
		},
		Problem: func(p datasets.Problem) {
			a.ui.Message("problem", p, fmt.Sprintf("%s: %s\n", p.File, p.Detail))
		},
	})
	if err != nil {
		return err
	}
	notes := ""
	for _, n := range r.Notes {
		notes += "note: " + n + "\n"
	}
	verdict := "all is well"
	if n := len(r.Problems); n > 0 {
		verdict = fmt.Sprintf("%d problems", n)
	}
	a.ui.Message("verify", r, notes+fmt.Sprintf("%s: %s entries, %s wavs, %d shards checked, %s read: %s\n",
		dir, count(r.Entries), count(r.Wavs), r.Shards, size(r.Bytes), verdict))
	if len(r.Problems) > 0 {
		return &problemsError{len(r.Problems), dir}
	}
	return nil
}
