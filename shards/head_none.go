//go:build !cgo || !linux || nohdf5

package shards

import (
	"errors"
	"os"
)

// writeHead needs libhdf5, which is C, and Linux's files in memory. Reading
// needs neither.
func writeHead(*os.File, *layout) (head, error) {
	return head{}, errors.New("this program can only read shards: to write them, build it on Linux with cgo and libhdf5, and without the tag nohdf5")
}
