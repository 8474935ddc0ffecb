package trainer

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// golden is what the Python package draws: see testdata/make_golden.py.
type goldenFile struct {
	Clips []struct {
		ID, Text    string
		Half, Float uint32
	}
	Orders []struct {
		N, Epoch, Batch, Bucket int
		Seed                    int64
		Shuffle                 bool
		CRC32                   uint32
		Order                   []int32
	}
	Plans []struct {
		World, Start int
		Drop         bool
		Ranks        [][][]int32
	}
	Masks []struct {
		Frames, Mels, Epoch, Index int
		Fill                       *float32
		Seed                       int64
		TimeMasks                  *int     `json:"time_masks"`
		TimeWidth                  *int     `json:"time_width"`
		TimeShare                  *float64 `json:"time_share"`
		FreqMasks                  *int     `json:"freq_masks"`
		FreqWidth                  *int     `json:"freq_width"`
		CRC32                      uint32
	}
}

func readGolden(t *testing.T) (g goldenFile) {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	check(t, err)
	check(t, json.Unmarshal(b, &g))
	if len(g.Orders) == 0 || len(g.Plans) == 0 || len(g.Masks) == 0 || len(g.Clips) == 0 {
		t.Fatal("testdata/golden.json is empty: run make_golden.py")
	}
	return g
}

// goldenLength is the length of clip i in make_golden.py.
func goldenLength(i int) int { return i * 7919 % 1000 / 20 }

func TestSplitMix(t *testing.T) {
	// The first numbers of splitmix64's reference code for the seed 0.
	state := uint64(0)
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec} {
		state += golden
		if got := scramble(state); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestOrderIsPythons(t *testing.T) {
	for _, c := range readGolden(t).Orders {
		o := Order{Seed: c.Seed, Epoch: c.Epoch, Sequential: !c.Shuffle, Batch: c.Batch, Buckets: c.Bucket}
		got := o.Indices(c.N, goldenLength)
		if sumOf(t, got) != c.CRC32 || c.Order != nil && !slices.Equal(got, c.Order) {
			t.Errorf("%+v of %d: %v, want %v", o, c.N, got, c.Order)
		}
	}
}

func TestPlanIsPythons(t *testing.T) {
	order := Order{Seed: 1, Epoch: 2}.Indices(37, goldenLength)
	for _, c := range readGolden(t).Plans {
		p := plan{batch: 4, world: c.World, dropLast: c.Drop, n: 37, start: c.Start, order: order}
		for rank, want := range c.Ranks {
			for step := range want {
				if step == p.steps(rank) && len(want[step]) == 0 && step == len(want)-1 {
					continue // Python has a last step without a batch for this rank
				}
				if step >= p.steps(rank) {
					t.Fatalf("rank %d of %d from %d on: %d steps, want %d", rank, c.World, c.Start, p.steps(rank), len(want))
				}
				if got := p.indices(step, rank); !slices.Equal(got, want[step]) {
					t.Errorf("rank %d of %d from %d on, step %d: %v, want %v", rank, c.World, c.Start, step, got, want[step])
				}
			}
		}
	}
}

func TestOrderIsAPermutation(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 16, 17, 100, 997} {
		for _, buckets := range []int{0, 1, 2, 5, 1000} {
			for _, sequential := range []bool{false, true} {
				order := Order{Seed: 3, Epoch: 1, Sequential: sequential, Buckets: buckets, Batch: 4}.Indices(n, goldenLength)
				slices.Sort(order)
				for i, got := range order {
					if got != int32(i) {
						t.Fatalf("n %d, buckets %d: %v", n, buckets, order)
					}
				}
			}
		}
	}
}

func TestBucketsShareLengths(t *testing.T) {
	spread := func(buckets int) (sum int) {
		order := Order{Buckets: buckets, Batch: 4}.Indices(996, goldenLength)
		for batch := range slices.Chunk(order, 4) {
			low, high := 1000, 0
			for _, i := range batch {
				low, high = min(low, goldenLength(int(i))), max(high, goldenLength(int(i)))
			}
			sum += high - low
		}
		return sum
	}
	if sorted, plain := spread(50), spread(0); sorted*10 > plain {
		t.Errorf("lengths in a batch spread by %d with buckets, by %d without", sorted, plain)
	}
}

func TestMasksArePythons(t *testing.T) {
	set := func(dst, src *int) {
		if src != nil {
			*dst = *src
		}
	}
	for _, c := range readGolden(t).Masks {
		a := DefaultSpecAugment()
		a.Seed, a.Fill = c.Seed, c.Fill
		set(&a.TimeMasks, c.TimeMasks)
		set(&a.TimeWidth, c.TimeWidth)
		set(&a.FreqMasks, c.FreqMasks)
		set(&a.FreqWidth, c.FreqWidth)
		if c.TimeShare != nil {
			a.TimeShare = *c.TimeShare
		}
		src := make([]uint16, c.Frames*c.Mels)
		for i := range src {
			src[i] = float16.Fromfloat32(float32(i*37%101-50) / 16).Bits()
		}
		name := fmt.Sprintf("%d x %d, epoch %d, index %d, %+v", c.Frames, c.Mels, c.Epoch, c.Index, a)
		width := c.Frames + 3 // padding, which masks leave alone
		if got := maskedSum[uint16](&a, src, c.Frames, c.Mels, width, c.Epoch, c.Index); got != c.CRC32 {
			t.Errorf("%s: half differs", name)
		}
		if got := maskedSum[float32](&a, src, c.Frames, c.Mels, width, c.Epoch, c.Index); got != c.CRC32 {
			t.Errorf("%s: float differs", name)
		}
	}
}

// maskedSum masks src and gives the checksum of the result as [frames, mels] of
// FP16, or 0 if the padding changed.
func maskedSum[T value](a *SpecAugment, src []uint16, frames, mels, width, epoch, index int) uint32 {
	const pad = 0x5555
	dst := make([]T, mels*width)
	transpose(dst, width, src, frames, mels)
	fillPadding(dst, width, frames, as[T](pad))
	mask(a, dst, width, frames, epoch, index)
	var out []byte
	for t := range width {
		for m := range mels {
			h := narrow(dst[m*width+t])
			if t < frames {
				out = binary.LittleEndian.AppendUint16(out, h)
			} else if h != pad {
				return 0
			}
		}
	}
	return crc32.ChecksumIEEE(out)
}

func narrow[T value](x T) uint16 {
	if h, ok := any(x).(uint16); ok {
		return h
	}
	return float16.Fromfloat32(float32(x)).Bits()
}

func TestSpecAugmentRefuses(t *testing.T) {
	for _, a := range []SpecAugment{{TimeMasks: -1}, {FreqWidth: -2}, {TimeShare: 1.5}, {TimeShare: -0.1}} {
		if _, err := NewLoader(fresh(t, 3).open(Options{}), LoaderOptions{Batch: 1, Augment: &a}); err == nil {
			t.Errorf("%+v was taken", a)
		}
	}
}
