package trainer

import "math"

// value is what an array for a model consists of: FP16 bits or float32.
type value interface{ uint16 | float32 }

// widen is the float32 that FP16 bits stand for.
func widen(h uint16) float32 {
	const exponent = 0x7c00
	if h&exponent == exponent { // infinite or not a number
		return math.Float32frombits(uint32(h&0x8000)<<16 | 0x7f800000 | uint32(h&0x3ff)<<13)
	}
	// The bits in their places of a float32 are a number whose exponent is 112
	// too small; multiplying also makes subnormal numbers right.
	abs := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(abs) | uint32(h&0x8000)<<16)
}

// as gives FP16 bits as a T.
func as[T value](h uint16) T {
	var t T
	switch p := any(&t).(type) {
	case *uint16:
		*p = h
	case *float32:
		*p = widen(h)
	}
	return t
}
