package trainer

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/x448/float16"
)

func TestWiden(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got, want := widen(h), float16.Frombits(h).Float32()
		var vector [8]float32
		widenAll(vector[:], []uint16{h, h, h, h, h, h, h, h})
		if want != want {
			if got == got || vector[3] == vector[3] {
				t.Errorf("%#04x became %v and %v, want NaN", h, got, vector[3])
			}
		} else if math.Float32bits(got) != math.Float32bits(want) || math.Float32bits(vector[3]) != math.Float32bits(want) {
			t.Errorf("%#04x became %v and %v, want %v", h, got, vector[3], want)
		}
	}
}

// holdTransposed fails unless transpose does what its twin does, and nothing to
// what lies around.
func holdTransposed[T value](t *testing.T, n, mels, extra int) {
	t.Helper()
	const guard = 40
	src := drawn(mel.Config{NMels: mels}, n, n).Frames
	width := n + extra
	got, want := make([]T, mels*width+2*guard), make([]T, mels*width+2*guard)
	for i := range got {
		got[i], want[i] = 7, 7
	}
	transpose(got[guard:][:mels*width:mels*width], width, src, n, mels)
	transposePlain(want[guard:][:mels*width], width, src, n, mels)
	if !slices.Equal(got, want) {
		t.Errorf("%d frames of %d mels to width %d differ", n, mels, width)
	}
}

func TestTransposeIsPlain(t *testing.T) {
	for _, mels := range []int{1, 3, 7, 8, 9, 15, 16, 17, 23, 80, 128} {
		for n := range 50 {
			for _, extra := range []int{0, 1, 5, 16} {
				holdTransposed[uint16](t, n, mels, extra)
				holdTransposed[float32](t, n, mels, extra)
			}
		}
	}
}

func FuzzTranspose(f *testing.F) {
	f.Add(uint16(302), uint8(80), uint8(0))
	f.Add(uint16(17), uint8(9), uint8(3))
	f.Fuzz(func(t *testing.T, n uint16, mels, extra uint8) {
		if mels > 0 && n < 4000 {
			holdTransposed[uint16](t, int(n), int(mels), int(extra))
			holdTransposed[float32](t, int(n), int(mels), int(extra))
		}
	})
}

// speechlike draws samples with a loud and a faint part.
func speechlike(n int) []int16 {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	s := make([]int16, n)
	for i := range s {
		s[i] = int16(8000*math.Sin(float64(i)*0.05)*float64(i%4000)/4000) + int16(r.IntN(64)) - 32
	}
	return s
}

func TestReadIsWhatTheEngineComputes(t *testing.T) {
	for _, layout := range []manifests.Layout{manifests.Packed, manifests.Padded} {
		t.Run(layout.String(), func(t *testing.T) {
			f := newFolder(t)
			f.layout = layout
			e, err := mel.NewCPU(f.cfg, 1)
			check(t, err)
			defer e.Close()
			for _, samples := range []int{0, 1, 159, 160, 5000, 48000, 480000} {
				c, err := e.Clip(context.Background(), samples)
				check(t, err)
				copy(c.Samples(), speechlike(samples))
				m, err := c.Compute(context.Background())
				check(t, err)
				m.Frames = slices.Clone(m.Frames)
				c.Release()
				f.addMels(m)
			}
			d := f.open(Options{Verify: true})
			for i, m := range f.mels {
				for _, frames := range []int{m.N, m.N + 1, 3000} {
					if frames > 0 && frames <= 3000 {
						holdRead(t, d, i, frames, m.Padded(nil, frames))
					}
				}
			}
		})
	}
}

func holdRead(t *testing.T, d *Dataset, i, frames int, want []uint16) {
	t.Helper()
	half, float := make([]uint16, len(want)), make([]float32, len(want))
	check(t, d.ReadHalf(half, i, frames))
	if !slices.Equal(half, want) {
		t.Errorf("clip %d, %d frames: not the bits of the engine", i, frames)
	}
	if frames == 3000 {
		frames = 0 // the same
	}
	check(t, d.Read(float, i, frames))
	for k, h := range want {
		if math.Float32bits(float[k]) != math.Float32bits(float16.Frombits(h).Float32()) {
			t.Fatalf("clip %d, %d frames: value %d is %v, want %v", i, frames, k, float[k], float16.Frombits(h))
		}
	}
}

func TestReadRefuses(t *testing.T) {
	d := fresh(t, 4, 9).open(Options{})
	room := make([]float32, 80*8)
	wantError(t, d.Read(room, 2, 8), "clip 2 of 2")
	wantError(t, d.Read(room, -1, 8), "clip -1 of 2")
	wantError(t, d.Read(room, 1, 8), "clip-1", "9 frames, more than 8")
	wantError(t, d.Read(room[:100], 0, 8), "room for 100 values")
	check(t, d.Read(room, 0, 8))

	f := newFolder(t)
	var err error
	f.cfg, err = mel.Preset("kaldi-fbank-80")
	check(t, err)
	f.add(5)
	wantError(t, f.open(Options{}).Read(room, 0, 0), "no fixed length")
}

func TestReadConcurrently(t *testing.T) {
	f := fresh(t, lengths(40, 60)...)
	d := f.open(Options{Verify: true})
	parallel(200, func(k int) {
		i := k * 7 % 40
		got := make([]uint16, 80*64)
		if err := d.ReadHalf(got, i, 64); err != nil || !slices.Equal(got, f.mels[i].Padded(nil, 64)) {
			t.Errorf("clip %d: %v, or wrong", i, err)
		}
	})
}

// The dataset of the Python package's tests was made by the pipeline; this
// test needs no library that writes shards.
func TestReadIsPythons(t *testing.T) {
	d, err := Open("../python/tests/data/tiny", Options{Verify: true})
	check(t, err)
	defer d.Close()
	want := readGolden(t).Clips
	if d.Len() != len(want) {
		t.Fatalf("%d clips, want %d", d.Len(), len(want))
	}
	half, float := make([]uint16, 80*3000), make([]float32, 80*3000)
	for i, c := range want {
		check(t, d.ReadHalf(half, i, 0))
		check(t, d.Read(float, i, 0))
		if clip := d.Clip(i); clip.ID != c.ID || clip.Text != c.Text || sumOf(t, half) != c.Half || sumOf(t, float) != c.Float {
			t.Errorf("clip %d (%s, %q) is not what Python reads", i, clip.ID, clip.Text)
		}
	}
}

func sumOf(t *testing.T, values any) uint32 {
	t.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, values)
	check(t, err)
	return crc32.ChecksumIEEE(b)
}
