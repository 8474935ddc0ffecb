package plan

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// inode tells files apart that have the same path, size and time: the
// file's number and the time its number's record changed, which nobody can set.
func inode(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Ctim.Sec, st.Ctim.Nsec)
}

// changed is when the file last changed.
func changed(info fs.FileInfo) time.Time {
	t := info.ModTime()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if c := time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec)); c.After(t) {
			return c
		}
	}
	return t
}
