package terminal

import (
	"runtime"
	"runtime/debug"

	"github.com/melforge/melforge/manifests"
)

// Release is the version of this tree; see CHANGELOG.md.
const Release = "0.1.0-dev"

// Build says which program this is.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	Dataset int    `json:"dataset_format"` // the newest that it reads
}

// ReadBuild says which program this is, and which version of a module is in it.
func ReadBuild(module string) (b Build, version string) {
	b = Build{Version: Release, Go: runtime.Version(), Dataset: manifests.DatasetVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b, ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path == module {
			version = m.Version
		}
	}
	return b, version
}
