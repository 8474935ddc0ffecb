package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

// app is one invocation of the tool.
type app struct {
	ui   *terminal.UI
	root *cobra.Command
}

func newApp(out, errw io.Writer) *app {
	a := &app{ui: terminal.New("melforge-train", out, errw)}
	a.root = &cobra.Command{
		Use:   "melforge-train",
		Short: "Train on a dataset that melforge made",
		Long: `Trains speech recognisers in Go on the mels of a dataset: a small one of its own
that learns on a CPU, and Whisper from a Hugging Face folder and back to one.
Speech and mels were made before; training only reads them, and every step
says how long it waited.

` + exitHelp,
		Example: `  melforge train ctc dataset --out run
  melforge train whisper dataset --model whisper-tiny --out run --backend xla
  melforge train compare dataset --steps 50`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.ui.Setup() },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return terminal.Usagef("unknown command %s%s", args[0], suggestion(cmd, args[0]))
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	a.root.SetOut(out)
	a.root.SetErr(errw)
	a.root.CompletionOptions.HiddenDefaultCmd = true
	a.root.SuggestionsMinimumDistance = 2
	a.root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return terminal.Misuse(err) })
	f := a.root.PersistentFlags()
	a.ui.AddFlags(f)
	a.root.AddCommand(a.ctcCommand(), a.whisperCommand(), a.compareCommand(), a.benchCommand(), a.versionCommand())
	return a
}

func suggestion(cmd *cobra.Command, word string) string {
	if s := cmd.SuggestionsFor(word); len(s) > 0 {
		return ", did you mean " + strings.Join(s, " or ") + "?"
	}
	return ""
}
