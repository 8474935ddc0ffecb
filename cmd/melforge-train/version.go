package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

type versionMessage struct {
	terminal.Build
	GoMLX string `json:"gomlx,omitempty"`
	XLA   bool   `json:"xla"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  melforge-train version --json",
		RunE: func(*cobra.Command, []string) error {
			v := versionMessage{XLA: hasXLA}
			v.Build, v.GoMLX = terminal.ReadBuild("github.com/gomlx/gomlx")
			xla := "with XLA"
			if !v.XLA {
				xla = "without XLA"
			}
			a.ui.Message("version", v, fmt.Sprintf("melforge-train %s (%s, GoMLX %s %s, dataset format %d)\n", v.Version, v.Go, v.GoMLX, xla, v.Dataset))
			return nil
		},
	}
}
