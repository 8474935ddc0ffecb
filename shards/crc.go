package shards

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A CRC is a remainder of polynomials over GF(2), modulo crc32.Castagnoli. Its
// bits are reversed: the highest is the coefficient of x^0.

// crcJoin is the CRC-32C of two pieces of data one after the other, of which the
// second has n bytes. So rows are summed up as they come, in any order, while
// they are in the processor's cache, and nobody reads the file again.
func crcJoin(first, second uint32, n int64) uint32 {
	return crcMultiply(crcPower(uint64(n)), first) ^ second
}

// crcMultiply is the product of two remainders.
func crcMultiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		b = crcTimesX(b)
	}
	return product
}

// crcTimesX is the product of a remainder and x.
func crcTimesX(a uint32) uint32 {
	return a>>1 ^ crc32.Castagnoli&-(a&1)
}

// crcPower is the remainder of x^(8n), by which n more bytes multiply.
func crcPower(n uint64) uint32 {
	power, square := uint32(1)<<31, uint32(1)<<(31-8) // x^0, x^8
	for ; n != 0; n >>= 1 {
		if n&1 != 0 {
			power = crcMultiply(square, power)
		}
		square = crcMultiply(square, square)
	}
	return power
}

// checksum is the size of a file and its CRC-32C as eight hexadecimal digits.
func checksum(f *os.File) (size int64, sum string, err error) {
	h := crc32.New(castagnoli)
	const most = 1<<63 - 1
	size, err = io.CopyBuffer(h, io.NewSectionReader(f, 0, most), make([]byte, 1<<18))
	return size, hex(h.Sum32()), err
}

func hex(sum uint32) string { return fmt.Sprintf("%08x", sum) }
