package speech

import (
	"fmt"
	"math"
)

// quantize rounds samples of -1 to 1 to 16 bits and clips what is beyond. A
// sample that is no number means that the model broke.
func quantize(in []float32) ([]int16, error) {
	out := make([]int16, len(in))
	for i, x := range in {
		if x != x {
			return nil, fmt.Errorf("sample %d of %d is not a number", i, len(in))
		}
		v := math.RoundToEven(float64(x) * 32768)
		out[i] = int16(min(max(v, math.MinInt16), math.MaxInt16))
	}
	return out, nil
}
