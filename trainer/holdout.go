package trainer

import "hash/fnv"

// HoldOut divides clips for Options.Keep: held keeps about this share of them,
// for evaluation, and train the others. It goes by the text, so that variants
// and augmented versions of a sentence are on the same side, and a clip stays on
// its side when the dataset grows.
func HoldOut(share float64, seed int64) (train, held func(Clip) bool) {
	held = func(c Clip) bool {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.Text))
		return float64(mix(uint64(seed), h.Sum64())>>11)/(1<<53) < share
	}
	return func(c Clip) bool { return !held(c) }, held
}
