package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

type versionMessage struct {
	terminal.Build
	Beam string `json:"beam,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  melforge version --json",
		RunE: func(*cobra.Command, []string) error {
			var v versionMessage
			v.Build, v.Beam = terminal.ReadBuild("github.com/apache/beam/sdks/v2")
			a.ui.Message("version", v, fmt.Sprintf("melforge %s (%s, Beam %s, dataset format %d)\n", v.Version, v.Go, v.Beam, v.Dataset))
			return nil
		},
	}
}
