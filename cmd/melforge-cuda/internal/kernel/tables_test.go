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
		var re, im float64
		for n := range 20 { // columns, turned by the twiddles, then rows
			var cr, ci float64
			for r := range 20 {
				s, c := math.Sincos(-2 * math.Pi * float64(r*k%20) / 20)
				v := t.Window[n][r] * float64(x[20*r+n])
				cr, ci = cr+v*c, ci+v*s
			}
			s, c := math.Sincos(-2 * math.Pi * float64(n*k) / fft)
			if k >= 1 && k <= 10 {
				c, s = t.Twiddle[n][k-1][0], t.Twiddle[n][k-1][1]
			}
			re, im = re+cr*c-ci*s, im+cr*s+ci*c
		}
		power[k] = re*re + im*im
	}
	out := make([]float64, t.Mels)
	for b := range out {
		d := int(t.Band[b])
		sum := 0.0
		for i := range 4 * (d >> 8 & 255) {
			sum += power[d&255+i] * float64(t.Weight[4*(d>>16)+i])
		}
		out[b] = math.Log2(max(sum, float64(t.Least)))*float64(t.Scale) + float64(t.Bias)
	}
	return out
}

func TestShare(t *testing.T) {
	for _, name := range []string{"whisper-80", "whisper-128"} {
		tab, c := decode(t, name)
		for w := range warps {
			if n := tab.Share[w+1] - tab.Share[w]; n < 0 || n > 32 || tab.Share[w]%2 != 0 {
				t.Errorf("%s: warp %d has %d bands from %d", name, w, n, tab.Share[w])
			}
		}
		if tab.Share[0] != 0 || int(tab.Share[warps]) != c.NMels {
			t.Errorf("%s: shares %v", name, tab.Share)
		}
	}
}

// TestSizes reads the sizes that are written down twice.
func TestSizes(t *testing.T) {
	source, err := os.ReadFile("mel.cuh")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"kWarps": warps, "kTile": Tile, "kFFT": fft, "kMaxMels": maxMels, "kWeights": weights} {
		m := regexp.MustCompile(`constexpr int ` + name + ` = (\d+);`).FindSubmatch(source)
		if m == nil {
			t.Errorf("mel.cuh has no %s", name)
		} else if got, _ := strconv.Atoi(string(m[1])); got != want {
			t.Errorf("%s is %d in mel.cuh and %d here", name, got, want)
		}
	}
}
