package mel

import (
	"encoding/binary"
	"os"
	"testing"
)

// The clips of testdata/make_golden.py, made the same way in integers.

func noise(n, shift int) []int16 {
	state := uint32(12345)
	return generate(n, func(int) int {
		state = state*1664525 + 1013904223
		return (int(state>>16) - 32768) >> shift
	})
}

func square(n int) []int16 {
	return generate(n, func(i int) int { return 9000 - 18000*(i/18%2) })
}

// sine is an integer resonator, near 1 kHz.
func sine(n int) []int16 {
	before, now := 0, 6000
	return generate(n, func(int) int {
		out := now
		before, now = now, (now*30274)>>14-before
		return out
	})
}

func clicks(n int) []int16 {
	return generate(n, func(i int) int {
		if i%1009 == 500 {
			return -32768
		}
		return 0
	})
}

func constant(n, value int) []int16 { return generate(n, func(int) int { return value }) }

func generate(n int, sample func(i int) int) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = int16(sample(i))
	}
	return out
}

// signal makes the clip of that name in golden.json.
func signal(t *testing.T, name string) []int16 {
	t.Helper()
	const longest = 480000
	switch name {
	case "empty":
		return nil
	case "one sample":
		return constant(1, 20000)
	case "silence":
		return constant(4000, 0)
	case "constant":
		return constant(3000, 10000)
	case "clicks":
		return clicks(4000)
	case "square":
		return square(3000)
	case "sine":
		return sine(4001)
	case "noise":
		return noise(5000, 0)
	case "faint noise":
		return noise(1600, 15)
	case "speech":
		return speech(t)
	case "29.9 s of square":
		return square(longest - 1600)
	case "30 s less a sample":
		return noise(longest-1, 2)
	case "30 s":
		return noise(longest, 2)
	}
	t.Fatalf("golden.json names a clip that is not known here: %q", name)
	return nil
}

func speech(t testing.TB) []int16 {
	t.Helper()
	raw, err := os.ReadFile("testdata/speech.s16")
	if err != nil {
		t.Fatal(err)
	}
	return generate(len(raw)/2, func(i int) int { return int(int16(binary.LittleEndian.Uint16(raw[2*i:]))) })
}
