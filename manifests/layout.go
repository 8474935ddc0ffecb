package manifests

import "fmt"

// Layout says how mels lie in the shards of a dataset.
type Layout string

const (
	// Packed is the real frames of one clip after the other, [frames, n_mels]. It
	// is what an absent layout means.
	Packed Layout = ""
	// Padded is an array [clips, n_mels, frames] in which each clip is filled up
	// to the array that the reference gives: larger, for tools that want no more
	// than an array.
	Padded Layout = "padded"
)

// ParseLayout reads a layout as people write it: "packed" or "padded".
func ParseLayout(text string) (Layout, error) {
	for _, l := range []Layout{Packed, Padded} {
		if text == l.String() {
			return l, nil
		}
	}
	return "", fmt.Errorf("%q is no layout: want %q or %q", text, Packed, Padded)
}

// String is the layout as people write it.
func (l Layout) String() string {
	if l == Packed {
		return "packed"
	}
	return string(l)
}

// DatasetVersion is the version of a dataset.json whose shards have this
// layout: the lowest that can say so, for older releases read that too.
func (l Layout) DatasetVersion() int {
	if l == Packed {
		return 1
	}
	return 2
}
