package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/manifests"
)

// release is the version of this tree; see CHANGELOG.md.
const release = "0.1.0-dev"

type versionMessage struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	GoMLX   string `json:"gomlx,omitempty"`
	XLA     bool   `json:"xla"`
	Dataset int    `json:"dataset_format"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  melforge-train version --json",
		RunE: func(*cobra.Command, []string) error {
			v := version()
			xla := "with XLA"
			if !v.XLA {
				xla = "without XLA"
			}
			text := fmt.Sprintf("melforge-train %s (%s, GoMLX %s %s, dataset format %d)\n", v.Version, v.Go, v.GoMLX, xla, v.Dataset)
			a.ui.Message("version", v, text)
			return nil
		},
	}
}

func version() versionMessage {
	v := versionMessage{Version: release, Go: runtime.Version(), Dataset: manifests.DatasetVersion, XLA: hasXLA}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/gomlx/gomlx" {
			v.GoMLX = m.Version
		}
	}
	return v
}
