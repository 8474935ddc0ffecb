// Package python carries what melforge runs in a user's Python.
package python

import (
	"embed"
	"io/fs"
)

//go:embed melforge/audit/*.py
var files embed.FS

// Audit is the source of the Python package melforge.audit, which needs no other
// of ours.
func Audit() (fs.FS, error) { return fs.Sub(files, "melforge/audit") }
