package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

// app is one invocation of the tool.
type app struct {
	ui      *terminal.UI
	root    *cobra.Command
	config  string // file given with --config
	started time.Time
	planned time.Time // when the plan was made
}

func newApp(out, errw io.Writer) *app {
	a := &app{ui: terminal.New("melforge", out, errw), started: time.Now()}
	a.root = &cobra.Command{
		Use:   "melforge",
		Short: "Text in, training-ready mels out, computed once and never again during training",
		Long: `Melforge turns a corpus of texts into a dataset for training speech models:
it speaks the texts, computes log-mel features and stores them as FP16 in
HDF5 shards, before training starts. Run again, it does only what is new.

` + exitHelp,
		Example: `  melforge run corpus.txt --out dataset            # the whole way
  melforge run corpus.csv --out dataset --dry-run  # what would be done
  melforge verify dataset --read-data              # is everything right?`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.loadConfig(cmd); err != nil {
				return terminal.Misuse(err)
			}
			return a.ui.Setup()
		},
		// Without a command there is nothing to do but to explain.
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.external(args)
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	a.root.SetOut(out)
	a.root.SetErr(errw)
	a.root.CompletionOptions.HiddenDefaultCmd = true
	a.root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return terminal.Misuse(err) })
	f := a.root.PersistentFlags()
	a.ui.AddFlags(f)
	f.StringVar(&a.config, "config", "", "read flags from this YAML file; flags on the command line win")
	a.root.AddCommand(
		a.makeCommand(runKind), a.makeCommand(synthKind), a.makeCommand(melKind), a.makeCommand(planKind),
		a.verifyCommand(), a.inspectCommand(), a.gcCommand(), a.voicesCommand(), a.doctorCommand(), a.benchCommand(), a.auditCommand(), a.versionCommand(), a.beamCommand(),
	)
	a.root.SuggestionsMinimumDistance = 2
	a.root.InitDefaultHelpCmd()
	a.root.InitDefaultCompletionCmd()
	return a
}

// execute runs the command line. A first word that is no command of ours may
// be one of its own beside us, as with git.
func (a *app) execute(ctx context.Context, args []string) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if c, _, err := a.root.Find(args); err != nil || c == a.root {
			return a.external(args)
		}
	}
	a.root.SetArgs(args)
	return a.root.ExecuteContext(ctx)
}

// external replaces this process by melforge-NAME.
func (a *app) external(args []string) error {
	name := "melforge-" + args[0]
	if filepath.Base(name) == name {
		if path, err := sibling(name); err == nil {
			return syscall.Exec(path, append([]string{name}, args[1:]...), os.Environ())
		}
	}
	msg := "unknown command " + args[0]
	if s := a.root.SuggestionsFor(args[0]); len(s) > 0 {
		msg += ", did you mean " + strings.Join(s, " or ") + "?"
	}
	return terminal.Usagef("%s", msg)
}

// sibling finds a program of ours: beside this one, else in the PATH.
func sibling(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			if p := filepath.Join(filepath.Dir(self), name); executable(p) {
				return p, nil
			}
		}
	}
	return exec.LookPath(name)
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
