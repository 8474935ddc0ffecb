//go:build cuda

package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/melforge/melforge/cmd/melforge-cuda/internal/device"
	"github.com/melforge/melforge/cmd/melforge-cuda/internal/kernel"
	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/worker"
)

// tolerance is how far a value may be from the float64 reference before it is
// rounded to FP16, whose steps are 50 times as wide where most values lie.
const (
	tolerance  = 1e-5
	tolerance1 = 2e-4 // of single precision, at values near the floor
	nearZero   = 0.01 // below it FP16's steps are finer than tolerance
)

// bound is the tolerance for c, which is in Whisper's units. What is normalised
// is divided by a deviation that may be tiny.
func bound(c mel.Config, single bool) float64 {
	b := tolerance
	if single {
		b = tolerance1
	}
	return b * 4 / c.Divisor
}

// selftest compares the device with the reference on clips that are hard to get
// right, and prints a line for each: for every preset and what else there is, or
// for the one that the setup names. Single precision is held to its own bound.
func selftest(s wire.Setup) error {
	configs, err := named(s.Config.Name)
	if err != nil {
		return err
	}
	failed := 0
	for _, c := range configs {
		s.Config, s.Layout, s.Buffers = c, wire.NewLayout(c, 1, 1), 1
		memory, err := worker.NewMemory(s.Layout.Bytes())
		if err != nil {
			return err
		}
		d, err := device.Open(s, memory.Bytes())
		if err != nil {
			return err
		}
		bound := bound(c, d.Single)
		worst := 0.0
		for _, clip := range hostile(wire.BenchClip(c), c) {
			diff, err := d.Compare(clip.samples)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.Name, clip.name, err)
			}
			verdict := "ok"
			if !(diff.Exact <= bound) || diff.Pad || diff.Apart > 1 && diff.Near0 > nearZero*4/c.Divisor {
				verdict = "WRONG"
				failed++
			}
			worst = max(worst, diff.Exact)
			fmt.Printf("%-12s %-22s %7d samples: off by %.1e; FP16 differs in %d of %d, by %d at most (beyond one only below %.1e)  %s\n",
				c.Name, clip.name, len(clip.samples), diff.Exact, diff.Other, diff.Values, diff.Apart, diff.Near0, verdict)
		}
		fmt.Printf("%s: single precision %v, off by %.1e at most, allowed %.0e\n", c.Name, d.Single, worst, bound)
	}
	if failed > 0 {
		return fmt.Errorf("%d clips are wrong", failed)
	}
	return nil
}

// named is the configuration of that name, or all.
func named(name string) ([]mel.Config, error) {
	all := kernel.Unusual()
	for _, p := range mel.Presets() {
		c, err := mel.Preset(p)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if name == "" {
		return all, nil
	}
	for _, c := range all {
		if c.Name == name {
			return []mel.Config{c}, nil
		}
	}
	return nil, fmt.Errorf("there is no configuration %q to test", name)
}

type testClip struct {
	name    string
	samples []int16
}

// hostile are clips of every length that matters and of signals with much
// dynamic range, where float32 is weakest.
func hostile(longest int, c mel.Config) []testClip {
	r := rand.New(rand.NewPCG(3, 4))
	white := func(int) float64 { return r.Float64()*65535 - 32768 }
	sine := func(i int) float64 { return 6000 * math.Sin(float64(i)*0.3927) }
	var clips []testClip
	add := func(name string, n int, f func(int) float64) {
		if c.Frames(n) == 0 {
			return
		}
		s := make([]int16, n)
		for i := range s {
			s[i] = int16(min(max(f(i), -32768), 32767))
		}
		clips = append(clips, testClip{name, s})
	}
	for _, n := range []int{1, 2, 7, 159, 160, 161, 199, 200, 201, 399, 400, 401, 5120, 5159, 5160, 5161, 5361, 16000, longest - 5361, longest - 201, longest - 200, longest - 1, longest} {
		add("white noise", n, white)
	}
	add("silence", 4000, func(int) float64 { return 0 })
	add("loudest constant", 48000, func(int) float64 { return -32768 })
	add("constant", 3000, func(int) float64 { return 10000 })
	add("alternating extremes", 48000, func(i int) float64 { return 32767 - 65535*float64(i%2) })
	add("square", longest, func(i int) float64 { return 9000 - 18000*float64(i/18%2) })
	add("clicks", 48000, func(i int) float64 {
		if i%1009 == 500 {
			return -32768
		}
		return 0
	})
	add("sine", 48000, sine)
	add("loud sine", 48000, func(i int) float64 { return 32767 * math.Sin(float64(i)*1.234) })
	add("sine of 100 Hz", 48000, func(i int) float64 { return 32767 * math.Sin(float64(i)*2*math.Pi/160) })
	add("faint noise", 48000, func(int) float64 { return math.Floor(r.Float64()*3) - 1 })
	add("sweep", 160000, func(i int) float64 { return 30000 * math.Sin(float64(i)*float64(i)*1e-5) })
	add("bursts", longest, func(i int) float64 {
		if i/8000%3 == 0 {
			return sine(i) + r.NormFloat64()*3000
		}
		return r.NormFloat64() * 2
	})
	add("one loud sample", 48000, func(i int) float64 {
		if i == 20000 {
			return 32767
		}
		return float64(i % 2)
	})
	add("speech-like", longest, func(i int) float64 {
		e := math.Exp(-math.Abs(math.Sin(float64(i)*2e-4)) * 6)
		return e * (8000*math.Sin(float64(i)*0.05) + 4000*math.Sin(float64(i)*0.21) + r.NormFloat64()*900)
	})
	return clips
}
