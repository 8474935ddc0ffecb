package kernel

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/melforge/melforge/mel"
)

func decode(t *testing.T, name string) (tables, mel.Config) {
	t.Helper()
	c, err := mel.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Tables(c)
	if err != nil {
		t.Fatal(err)
	}
	var out tables
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, &out); err != nil {
		t.Fatal(err)
	}
	return out, c
}

// TestMel goes through the kernel's steps for single frames, in float64 with
// the kernel's tables, and wants what the reference gives.
func TestMel(t *testing.T) {
	for _, name := range []string{"whisper-80", "whisper-128"} {
		tab, c := decode(t, name)
		for _, hz := range []float64{0, 50, 440, 1000, 3333, 7990} {
			samples := make([]int16, 2000)
			for i := range samples {
				samples[i] = int16(12000 * math.Cos(2*math.Pi*hz*float64(i)/16000))
			}
			want, _, err := mel.Reference(c, samples)
			if err != nil {
				t.Fatal(err)
			}
			floor := math.Inf(-1)
			for _, v := range want {
				floor = max(floor, v-float64(tab.Range))
			}
			const frame = 5 // far from both ends
			got := tab.frame(samples[frame*160-200:][:fft])
			for b, v := range got {
				if d := math.Abs(max(v, floor) - want[frame*c.NMels+b]); !(d < 2e-6) {
					t.Errorf("%s, %g Hz, band %d: off by %g", name, hz, b, d)
				}
			}
		}
	}
}

// frame is the mel of one window of samples, before the floor.
func (t *tables) frame(x []int16) []float64 {
	var power [bins]float64
	for k := range power {
		row := k % 20
		if row > 10 {
			row = 20 - row // the mirrored row gives the conjugate
		}
		var re, im float64
		for n := range 20 {
			vr, vi := t.column(x, n, row)
			turns := n * ((k - row) / 20)
			if k%20 > 10 {
				turns = n * ((400 - k - row) / 20)
			}
			s, c := math.Sincos(-2 * math.Pi * float64(turns%20) / 20)
			if row == 10 { // not turned yet
				tc, ts := t.Twiddle[n][9][0], t.Twiddle[n][9][1]
				c, s = c*tc-s*ts, c*ts+s*tc
			}
			re, im = re+vr*c-vi*s, im+vr*s+vi*c
		}
		power[k] = math.Ldexp(re*re+im*im, -128)
	}
	out := make([]float64, t.Mels)
	for i, q := range t.Quad[:t.Mels/4] {
		for j := range 4 {
			first, size, at := q>>(8*(j/2))&255, q>>16&255, q>>24
			sum := 0.0
			for k := range 4 * size {
				sum += power[first+k] * float64(t.Weight[at+k/4][j/2][j%2][k%4])
			}
			out[4*int(t.Number[i])+j] = math.Log2(max(sum, float64(t.Least)))*float64(t.Scale) + float64(t.Bias)
		}
	}
	return out
}

// column is what the kernel puts into the exchange for a column and a row: the
// windowed transform, turned but for row 10.
func (t *tables) column(x []int16, n, row int) (re, im float64) {
	turned := func(q int) (float64, float64) { // D[q], of the samples as they are
		var cr, ci float64
		for r := range 20 {
			s, c := math.Sincos(-2 * math.Pi * float64(r*(q+20)%20) / 20)
			cr, ci = cr+float64(x[20*r+n])*c, ci+float64(x[20*r+n])*s
		}
		switch {
		case q == 0:
			return cr * t.Factor[0], 0
		case q == -1:
			c, s := t.Twiddle[n][0][0], -t.Twiddle[n][0][1]
			return cr*c - ci*s, cr*s + ci*c
		case q == 10:
			c, s := t.Twiddle[n][9][0]*t.Factor[0], t.Twiddle[n][9][1]*t.Factor[0]
			return cr*c - ci*s, cr*s + ci*c
		}
		c, s := t.Twiddle[n][q-1][0], t.Twiddle[n][q-1][1]
		return cr*c - ci*s, cr*s + ci*c
	}
	if row == 10 {
		var last, cr, ci float64
		for r := range 20 {
			v := float64(x[20*r+n])
			s, c := math.Sincos(-2 * math.Pi * float64(9*r%20) / 20)
			last, cr, ci = last+v*float64(1-r%2*2), cr+v*c, ci+v*s
		}
		return last*t.Factor[0] - (cr*t.Twiddle[n][0][0] + ci*t.Twiddle[n][0][1]), 0
	}
	br, bi := turned(row - 1)
	ar, ai := turned(row + 1)
	re, im = turned(row)
	return re - (br+ar)/2, im - (bi+ai)/2
}

func TestShare(t *testing.T) {
	for _, name := range []string{"whisper-80", "whisper-128", "torchaudio-db"} {
		tab, c := decode(t, name)
		seen := make(map[int32]bool)
		for w := range warps {
			if tab.Share[w+1] < tab.Share[w] {
				t.Errorf("%s: warp %d goes from %d to %d", name, w, tab.Share[w], tab.Share[w+1])
			}
		}
		for _, q := range tab.Number[:c.NMels/4] {
			seen[q] = true
		}
		if tab.Share[0] != 0 || int(tab.Share[warps]) != c.NMels/4 || len(seen) != c.NMels/4 {
			t.Errorf("%s: shares %v of %v", name, tab.Share, tab.Number)
		}
		for i := range 320 {
			if got := int(tab.Reciprocal) * i >> 16; got != i/(c.NMels/2) {
				t.Errorf("%s: %d words are %d rows", name, i, got)
			}
		}
	}
}

// TestShared holds the sizes to what the compiler says of mel.cuh.
func TestShared(t *testing.T) {
	for want, got := range map[int]int{
		7664 + 96192: Shared(1, false), 7664 + 2*96192: Shared(2, false),
		6048 + 70592: Shared(1, true), 6048 + 2*70592: Shared(2, true),
	} {
		if got != want {
			t.Errorf("%d bytes, want %d", got, want)
		}
	}
}

// TestSizes reads the sizes that are written down twice.
func TestSizes(t *testing.T) {
	var source []byte
	for _, file := range []string{"mel.cuh", "group.cuh"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, b...)
	}
	for name, want := range map[string]int{"kWarps": warps, "kTile": Tile, "kFFT": fft, "kMaxMels": maxMels, "kGroups": groups} {
		m := regexp.MustCompile(`constexpr int ` + name + ` = (\d+);`).FindSubmatch(source)
		if m == nil {
			t.Errorf("there is no %s", name)
		} else if got, _ := strconv.Atoi(string(m[1])); got != want {
			t.Errorf("%s is %d in mel.cuh and %d here", name, got, want)
		}
	}
}
