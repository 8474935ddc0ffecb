package augment

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// The golden file is made by another implementation, see testdata/ulaw.py.
func TestULaw(t *testing.T) {
	text, err := os.ReadFile("testdata/ulaw.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	if len(lines) != 256 {
		t.Fatalf("%d lines", len(lines))
	}
	for code, line := range lines {
		f := strings.Fields(line)
		if want, _ := strconv.Atoi(f[1]); int(decodeULaw(byte(code))) != want {
			t.Errorf("code %d is decoded to %d, want %d", code, decodeULaw(byte(code)), want)
		}
		if f[2] == "-" {
			continue
		}
		smallest, _ := strconv.Atoi(f[2])
		if got := encodeULaw(int16(smallest)); int(got) != code {
			t.Errorf("%d is encoded to %d, want %d", smallest, got, code)
		}
		if smallest > 0 && int(encodeULaw(int16(smallest-1))) != code+1 {
			t.Errorf("%d is encoded to %d, want %d", smallest-1, encodeULaw(int16(smallest-1)), code+1)
		}
	}
	for s := 0; s <= 32767; s++ {
		if plus, minus := encodeULaw(int16(s)), encodeULaw(^int16(s)); plus^0x80 != minus {
			t.Fatalf("%d has the code %#x, %d has %#x", s, plus, ^s, minus)
		}
	}
}

// Values of table 2a of G.711, which counts to 8159 where int16 counts to 32767.
func TestULawOfTheStandard(t *testing.T) {
	for code, want := range map[byte]int{0x80: 8031, 0x8f: 4191, 0x9f: 2079, 0xaf: 1023, 0xbf: 495, 0xcf: 231, 0xdf: 99, 0xef: 33, 0xfe: 2, 0xff: 0} {
		if got := int(decodeULaw(code)); got != 4*want {
			t.Errorf("code %#x is %d, want 4·%d", code, got, want)
		}
	}
}
