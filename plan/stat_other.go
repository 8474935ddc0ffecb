//go:build !linux

package plan

import (
	"io/fs"
	"time"
)

// inode tells files apart that have the same path, size and time. Here
// nothing does.
func inode(fs.FileInfo) string { return "" }

// changed is when the file last changed.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
