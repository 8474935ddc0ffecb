package speech

import (
	"math"
	"slices"
	"testing"
)

func TestQuantize(t *testing.T) {
	inf := float32(math.Inf(1))
	got, err := quantize([]float32{0, 0.5, -0.5, 1, -1, 7, -7, inf, -inf, 1.0 / 32768, 0.4 / 32768, -0.6 / 32768})
	want := []int16{0, 16384, -16384, 32767, -32768, 32767, -32768, 32767, -32768, 1, 0, -1}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := quantize([]float32{0, float32(math.NaN())}); err == nil {
		t.Error("not a number was taken for a sample")
	}
}
