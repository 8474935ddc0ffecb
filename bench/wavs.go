package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/melforge/melforge/audio"
)

// Wavs are files to measure with.
type Wavs struct {
	Paths []string
	Bytes int64
	Audio float64 // seconds
}

// MakeWavs fills a folder with n mono files whose lengths are spread evenly
// between two bounds, in seconds. They hold noise at the level of speech: the
// content does not matter to any engine, and noise passes every gate. Writing
// leaves the files in the page cache.
func MakeWavs(ctx context.Context, folder string, n, rate int, shortest, longest float64) (Wavs, error) {
	if n < 1 || rate < 1 || !(shortest > 0 && shortest <= longest) {
		return Wavs{}, fmt.Errorf("%d files of %g to %g s at %d Hz: there is nothing to measure with", n, shortest, longest, rate)
	}
	w := Wavs{Paths: make([]string, n)}
	noise := makeNoise(int(longest*float64(rate)) + n)
	var bytes, samples atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i := range n {
		length := int((shortest + (longest-shortest)*spread(i)) * float64(rate))
		w.Paths[i] = filepath.Join(folder, fmt.Sprintf("%07d.wav", i))
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := audio.AppendWAV(nil, audio.PCM{Rate: rate, Samples: noise[i : i+length]}) // each begins elsewhere, so no two are equal
			bytes.Add(int64(len(b)))
			samples.Add(int64(length))
			return os.WriteFile(w.Paths[i], b, 0o644)
		})
	}
	err := g.Wait()
	w.Bytes, w.Audio = bytes.Load(), float64(samples.Load())/float64(rate)
	return w, err
}

// writers is how many files are made or read at a time: enough to keep any
// disk's queue filled.
const writers = 16

// spread is a number of [0, 1) for each i, evenly spread at any count (the
// golden ratio's multiples), so that lengths do not follow the order.
func spread(i int) float64 {
	const golden = 0.6180339887498949
	x := float64(i) * golden
	return x - float64(int(x))
}

func makeNoise(n int) []int16 {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]int16, n)
	for i := range out {
		out[i] = int16(random.NormFloat64() * 2000)
	}
	return out
}
