package terminal

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Usage is a mistake in what a command was given: flags, arguments, files. It
// is found before any work is done.
type Usage struct{ err error }

// Error implements error.
func (u *Usage) Error() string { return u.err.Error() }

// Unwrap gives what was wrong.
func (u *Usage) Unwrap() error { return u.err }

// Usagef makes a Usage.
func Usagef(format string, args ...any) error { return &Usage{fmt.Errorf(format, args...)} }

// Misuse makes a Usage of an error, and nil of nil.
func Misuse(err error) error {
	if err == nil {
		return nil
	}
	return &Usage{err}
}

// OneArg wants exactly one argument and says which.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return Usagef("%s: name the %s", cmd.CommandPath(), what)
		default:
			return Usagef("%s: one %s, not %d (%q)", cmd.CommandPath(), what, len(args), args)
		}
	}
}
