package augment

import "math/bits"

// The numbers of µ-law: codes are found in 14 bits, to which 33 is added so
// that segments begin at powers of two.
const (
	uLawBias = 33
	uLawTop  = 1<<13 - 1
)

// encodeULaw is the µ-law code of a sample after ITU-T G.711, as the reference
// software of G.191 computes it: sample ~s has the code of s with the other
// sign.
func encodeULaw(s int16) byte {
	sign := byte(0x80)
	if s < 0 {
		sign, s = 0, ^s
	}
	v := min(uint(s)>>2+uLawBias, uLawTop)
	segment := bits.Len(v >> 6)
	step := v >> (segment + 1) & 15
	return sign | ^byte(segment<<4|int(step))&0x7f
}

// decodeULaw is the sample in the middle of a code's interval.
func decodeULaw(code byte) int16 {
	segment, step := int(^code>>4&7), int(^code&15)
	v := ((2*step+uLawBias)<<segment - uLawBias) << 2
	if code&0x80 == 0 {
		v = -v
	}
	return int16(v)
}
