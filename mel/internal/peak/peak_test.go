package peak

import "testing"

func TestVectors(t *testing.T) {
	rate, lanes := Vectors()
	if lanes > 0 && rate <= 0 {
		t.Errorf("%g vectors a nanosecond of %d lanes", rate, lanes)
	}
	t.Logf("%.2f vectors of %d float64 a nanosecond", rate, lanes)
}
