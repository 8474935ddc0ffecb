//go:build !amd64

package trainer

// transpose writes the frames src [n, mels] into the first n columns of dst
// [mels, width].
func transpose[T value](dst []T, width int, src []uint16, n, mels int) {
	transposePlain(dst, width, src, n, mels)
}

// widenAll is widen for as many values as dst has.
func widenAll(dst []float32, src []uint16) { widenPlain(dst, src) }
