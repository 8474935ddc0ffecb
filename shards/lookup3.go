package shards

import (
	"encoding/binary"
	"math/bits"
)

// lookup3 is Bob Jenkins's hash of that name with the initial value 0: HDF5's
// checksum of its metadata.
func lookup3(data []byte) uint32 {
	a := 0xdeadbeef + uint32(len(data))
	b, c := a, a
	for len(data) > 12 {
		a, b, c = add(a, b, c, data)
		a, b, c = mix(a, b, c)
		data = data[12:]
	}
	if len(data) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], data)
	return final(add(a, b, c, last[:]))
}

func add(a, b, c uint32, data []byte) (uint32, uint32, uint32) {
	le := binary.LittleEndian
	return a + le.Uint32(data), b + le.Uint32(data[4:]), c + le.Uint32(data[8:])
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a = (a - c) ^ bits.RotateLeft32(c, 4)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 6)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 8)
	b += a
	a = (a - c) ^ bits.RotateLeft32(c, 16)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 19)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
