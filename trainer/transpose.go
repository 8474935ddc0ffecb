package trainer

// transposePlain is transpose, readable.
func transposePlain[T value](dst []T, width int, src []uint16, n, mels int) {
	for m := range mels {
		row := dst[m*width:][:n]
		for t := range row {
			row[t] = as[T](src[t*mels+m])
		}
	}
}

// widenPlain is widenAll, readable.
func widenPlain(dst []float32, src []uint16) {
	for i := range dst {
		dst[i] = widen(src[i])
	}
}

// convert writes the first len(dst) values of src.
func convert[T value](dst []T, src []uint16) {
	switch dst := any(dst).(type) {
	case []uint16:
		copy(dst, src)
	case []float32:
		widenAll(dst, src)
	}
}
