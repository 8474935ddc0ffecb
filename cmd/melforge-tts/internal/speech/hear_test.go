package speech

import (
	"slices"
	"testing"
)

func TestPieces(t *testing.T) {
	loud := func(n int) []int16 { return slices.Repeat([]int16{1000, -1000}, n*earRate/2) }
	quiet := make([]int16, earRate/2)
	sound := slices.Concat(loud(15), quiet, loud(15), quiet, loud(30))
	got := pieces(sound)
	if !slices.Equal(slices.Concat(got...), sound) {
		t.Error("the pieces are not the whole")
	}
	for i, p := range got {
		if len(p) > 20*earRate {
			t.Errorf("piece %d has %d samples", i, len(p))
		}
	}
	for i, end := range []int{15 * earRate, 15*earRate + len(quiet) + 15*earRate} {
		cut := 0
		for _, p := range got[:i+1] {
			cut += len(p)
		}
		if cut < end || cut > end+len(quiet) {
			t.Errorf("cut %d is at %d, want it in the silence at %d", i, cut, end)
		}
	}
	if got := pieces(nil); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("nothing became %v", got)
	}
}
