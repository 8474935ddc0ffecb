//go:build !cgo || !linux || nohdf5

package shards

import "errors"

// newHead needs libhdf5, which is C, and Linux's files in memory. Reading
// needs neither.
func newHead(*layout) (head, error) {
	return head{}, errors.New("this program can only read shards: to write them, build it on Linux with cgo and libhdf5, and without the tag nohdf5")
}
