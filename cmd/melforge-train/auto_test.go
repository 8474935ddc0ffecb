package main

import (
	"context"
	"errors"
	"math"
	"testing"
)

var errFull = errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 51539607552 bytes")

// fakeCard is one on which steps of more than fits clips fail, whatever need
// says of them.
type fakeCard struct {
	fits  int
	need  func(clips int) float64 // nil: the backend does not say
	tries []int
	ran   []int
}

func (f *fakeCard) try(clips int, within float64) (float64, error) {
	f.tries = append(f.tries, clips)
	bytes := 0.0
	if f.need != nil {
		bytes = f.need(clips)
	}
	if bytes > within {
		return bytes, nil
	}
	f.ran = append(f.ran, clips)
	if clips > f.fits {
		return bytes, errFull
	}
	return bytes, nil
}

// TestAutoBatchTries is for backends that do not say what a step takes: on a card
// whose memory can be asked for, and on one where it cannot.
func TestAutoBatchTries(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 7, 8, 20, 64, 100, 777, 1 << 20} {
		for _, measured := range []bool{true, false} {
			f := &fakeCard{fits: limit}
			// A clip takes one of the card's limit parts.
			memory := func(context.Context) (float64, float64, bool) {
				return float64(f.tries[len(f.tries)-1]), float64(limit) / memoryPart, measured
			}
			c := card{most: 1 << 20, memory: memory, try: f.try}
			if measured {
				c.room = float64(limit)
			}
			n, _, err := c.autoBatch(t.Context())
			if limit == 0 {
				if err == nil {
					t.Errorf("%d clips fit into nothing", n)
				}
				continue
			}
			best := min(limit, maxAutoBatch)
			if err != nil || n > limit || n < best*7/8-8 || len(f.tries) > 16 {
				t.Errorf("measured %v, room for %d: found %d by %v, error %v", measured, limit, n, f.tries, err)
			}
		}
	}
}

// TestAutoBatchCalculates is for backends that say what a step takes. The bytes
// are those of a line, or of something that is no line at all.
func TestAutoBatchCalculates(t *testing.T) {
	line := func(base, clip float64) func(int) float64 {
		return func(n int) float64 { return base + clip*float64(n) }
	}
	for _, c := range []struct {
		name       string
		room       float64
		most, fits int
		need       func(int) float64
		want       int
		tries      int
	}{
		{"a line", 1000, 1 << 20, 1 << 20, line(40, 2), 480, 3},
		{"a large card", 1e9, 1 << 20, 1 << 20, line(40, 2), maxAutoBatch, 3},
		{"fewer clips than room", 1000, 250, 1 << 20, line(40, 2), 248, 3},
		{"five clips", 1000, 5, 1 << 20, line(40, 2), 5, 3},
		{"a large model", 1000, 1 << 20, 1 << 20, line(900, 30), 3, 3},
		{"one clip", 1000, 1 << 20, 1 << 20, line(900, 99), 1, 3},
		{"a model too large", 1000, 1 << 20, 1 << 20, line(2000, 1), 0, 3},
		{"a clip too large", 1000, 1 << 20, 1 << 20, line(500, 501), 0, 3},
		{"steeper later", 1000, 1 << 20, 1 << 20, func(n int) float64 { return 40 + 2*float64(n) + max(0, float64(n-100)) }, 344, 4},
		{"flatter later", 1000, 1 << 20, 1 << 20, func(n int) float64 { return 40 + 2*float64(min(n, 100)) + float64(max(0, n-100)) }, 480, 3},
		{"others use the card", 1000, 1 << 20, 450, line(40, 2), 432, 4},
		{"no slope", 1000, 64, 1 << 20, line(40, 0), 64, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeCard{fits: c.fits, need: c.need}
			n, bytes, err := card{most: c.most, room: c.room, try: f.try}.autoBatch(t.Context())
			if c.want == 0 {
				if !errors.Is(err, errNoRoom) {
					t.Errorf("%d clips, error %v", n, err)
				}
				return
			}
			if err != nil || n != c.want || bytes != c.need(n) || len(f.tries) > c.tries {
				t.Errorf("%d clips of %g bytes by %v, error %v; want %d in %d tries", n, bytes, f.tries, err, c.want, c.tries)
			}
			if len(f.ran) == 0 || f.ran[len(f.ran)-1] != n {
				t.Errorf("steps were made of %v clips, and the answer is %d", f.ran, n)
			}
			if bytes > c.room || math.IsNaN(bytes) {
				t.Errorf("%g bytes in a room of %g", bytes, c.room)
			}
		})
	}
}

func TestAutoBatchFails(t *testing.T) {
	broken := errors.New("broken")
	for name, need := range map[string]float64{"told": 1, "not told": 0} {
		c := card{most: 100, room: 1000, try: func(int, float64) (float64, error) { return need, broken }}
		if _, _, err := c.autoBatch(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want %v", name, err, broken)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeCard{fits: 100, need: func(n int) float64 { return float64(n) }}
	c := card{most: 100, room: 1000, try: func(n int, within float64) (float64, error) { cancel(); return f.try(n, within) }}
	if _, _, err := c.autoBatch(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: error %v", err)
	}
}
