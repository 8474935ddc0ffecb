package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/manifests"
)

// release is the version of this tree; see CHANGELOG.md.
const release = "0.1.0-dev"

type versionMessage struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	Beam    string `json:"beam,omitempty"`
	Dataset int    `json:"dataset_format"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  melforge version --json",
		RunE: func(*cobra.Command, []string) error {
			v := version()
			text := fmt.Sprintf("melforge %s (%s, Beam %s, dataset format %d)\n", v.Version, v.Go, v.Beam, v.Dataset)
			a.ui.Message("version", v, text)
			return nil
		},
	}
}

func version() versionMessage {
	v := versionMessage{Version: release, Go: runtime.Version(), Dataset: manifests.DatasetVersion}
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
		if strings.HasPrefix(m.Path, "github.com/apache/beam/") {
			v.Beam = m.Version
		}
	}
	return v
}
