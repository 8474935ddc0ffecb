package trainer

import (
	"fmt"

	"github.com/x448/float16"
)

// SpecAugment masks stretches of time and bands of frequency while a clip is
// loaded (Park et al. 2019, without the time warp), drawn anew in every epoch.
//
// What is drawn depends on seed, epoch and the clip's index alone: not on the
// worker that draws, nor on what was drawn before. So a resumed run sees what
// the interrupted one would have seen.
type SpecAugment struct {
	TimeMasks int
	TimeWidth int     // frames at most
	TimeShare float64 // and at most this part of the clip
	FreqMasks int
	FreqWidth int      // mels at most
	Fill      *float32 // nil: the clip's own mean
	Seed      int64
}

// DefaultSpecAugment is what the Python package masks too where nothing is
// said: twice 40 frames or a fifth of the clip, twice 15 mels.
func DefaultSpecAugment() SpecAugment {
	return SpecAugment{TimeMasks: 2, TimeWidth: 40, TimeShare: 0.2, FreqMasks: 2, FreqWidth: 15}
}

func (a *SpecAugment) validate() error {
	if min(a.TimeMasks, a.TimeWidth, a.FreqMasks, a.FreqWidth) < 0 || !(a.TimeShare >= 0 && a.TimeShare <= 1) {
		return fmt.Errorf("SpecAugment %+v: want counts and widths from 0 on, TimeShare from 0 to 1", *a)
	}
	return nil
}

// mask masks the first n columns of dst [mels, width], never the padding.
func mask[T value](a *SpecAugment, dst []T, width, n, epoch, index int) {
	if n == 0 {
		return
	}
	mels := len(dst) / width
	x := as[T](a.fill(func() float64 { return mean(dst, width, n) }))
	longest := min(a.TimeWidth, int(a.TimeShare*float64(n)))
	for k := range a.TimeMasks {
		first, last := a.span(n, longest, epoch, index, 2*k)
		for m := range mels {
			fill(dst[m*width+first:m*width+last], x)
		}
	}
	for k := range a.FreqMasks {
		first, last := a.span(mels, min(a.FreqWidth, mels), epoch, index, 2*k+1)
		for m := first; m < last; m++ {
			fill(dst[m*width:m*width+n], x)
		}
	}
}

// fill is what masks are filled with, as FP16 since clips are.
func (a *SpecAugment) fill(mean func() float64) uint16 {
	if a.Fill != nil {
		return float16.Fromfloat32(*a.Fill).Bits()
	}
	return float16.Fromfloat32(float32(mean())).Bits()
}

// span draws where a mask of at most longest begins and ends.
func (a *SpecAugment) span(size, longest, epoch, index, draw int) (first, last int) {
	of := func(d int) uint64 { return mix(uint64(a.Seed), uint64(epoch), uint64(index), uint64(d)) }
	width := int(of(2*draw) % uint64(longest+1))
	first = int(of(2*draw+1) % uint64(size-width+1))
	return first, first + width
}

// mean is that of the first n columns. Sums of so many FP16 values are exact
// in float64, so that their order does not matter.
func mean[T value](dst []T, width, n int) float64 {
	sum, mels := 0.0, len(dst)/width
	for m := range mels {
		sum += total(dst[m*width:][:n])
	}
	return sum / float64(n*mels)
}

func total[T value](row []T) (sum float64) {
	switch row := any(row).(type) {
	case []float32:
		sum = sumFloats(row)
	case []uint16:
		var wide [512]float32
		for len(row) > 0 {
			n := min(len(row), len(wide))
			widenAll(wide[:n], row)
			sum += sumFloats(wide[:n])
			row = row[n:]
		}
	}
	return sum
}

// sumFloats adds in four places at once: one would wait for every addition.
func sumFloats(row []float32) float64 {
	var a, b, c, d float64
	for ; len(row) >= 4; row = row[4:] {
		a += float64(row[0])
		b += float64(row[1])
		c += float64(row[2])
		d += float64(row[3])
	}
	for _, x := range row {
		a += float64(x)
	}
	return a + b + c + d
}
