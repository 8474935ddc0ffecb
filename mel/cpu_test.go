package mel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func engine(t testing.TB, c Config, workers int) Engine {
	t.Helper()
	e, err := NewCPU(c, workers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// compute is the mel of samples, with frames of its own.
func compute(t testing.TB, e Engine, samples []int16) Mel {
	t.Helper()
	clip, err := e.Clip(t.Context(), len(samples))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Release()
	copy(clip.Samples(), samples)
	m, err := clip.Compute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Frames = slices.Clone(m.Frames)
	return m
}

func equal(a, b Mel) bool {
	return a.N == b.N && a.NMels == b.NMels && a.Pad == b.Pad && slices.Equal(a.Frames, b.Frames)
}

func TestReferenceEngineIsTheReference(t *testing.T) {
	for _, name := range Presets() {
		c := preset(t, name)
		e, err := NewReference(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != "reference" || e.Config() != c {
			t.Errorf("engine %q computes %+v", e.Name(), e.Config())
		}
		for _, samples := range [][]int16{nil, constant(1, 5), speech(t), sine(9000)} {
			frames, pad, err := Reference(c, samples)
			if err != nil {
				t.Fatal(err)
			}
			want := Mel{N: c.Frames(len(samples)), NMels: c.NMels, Pad: half(pad)}
			for _, v := range frames {
				want.Frames = append(want.Frames, half(v))
			}
			if !equal(compute(t, e, samples), want) {
				t.Errorf("%s, %d samples: not the reference", name, len(samples))
			}
		}
	}
}

// holdPadded fails unless the packed mel of samples, padded, has the bits of the
// mel of the padded samples.
func holdPadded(t *testing.T, e Engine, samples []int16) {
	t.Helper()
	c := e.Config()
	packed := compute(t, e, samples)
	padded := compute(t, e, append(slices.Clone(samples), make([]int16, c.MaxSamples()-len(samples))...))
	if padded.N != c.PaddedFrames() || packed.N != c.Frames(len(samples)) {
		t.Fatalf("%d samples: %d and %d frames", len(samples), packed.N, padded.N)
	}
	real := len(packed.Frames)
	padding := func(v uint16) bool { return v != packed.Pad }
	if !slices.Equal(packed.Frames, padded.Frames[:real]) || slices.ContainsFunc(padded.Frames[real:], padding) {
		t.Fatalf("%d samples: padding the mel differs from padding the clip", len(samples))
	}
}

// small has Whisper's windows and hops in a chunk of only 1600 samples, so that
// a test can go through every length.
func small(t testing.TB) Config {
	c := preset(t, "whisper-80")
	c.Rate, c.ChunkSeconds, c.FMax, c.NMels = 1600, 1, 800, 8
	return c
}

func TestPaddingTheMelIsPaddingTheClip(t *testing.T) {
	for _, tc := range []struct {
		c           Config
		last, short int // lengths up to which all are tried, or every short one
	}{{small(t), 800, 1}, {preset(t, "whisper-80"), 520, 59}, {preset(t, "whisper-128"), 210, 97}} {
		e := engine(t, tc.c, 1)
		long := noise(tc.c.MaxSamples(), 0)
		holdPadded(t, e, nil)
		step := 1
		if testing.Short() {
			step = tc.short
		}
		for n := 1; n <= tc.last; n += step {
			holdPadded(t, e, long[:n])
			holdPadded(t, e, long[:len(long)+1-n])
		}
	}
}

func FuzzPadding(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	f.Add([]byte(strings.Repeat("\x00\x80\xff\x7f", 300)))
	c := small(f)
	e := engine(f, c, 1)
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := min(len(raw)/2, c.MaxSamples())
		holdPadded(t, e, generate(n, func(i int) int { return int(int16(binary.LittleEndian.Uint16(raw[2*i:]))) }))
	})
}

func TestPadded(t *testing.T) {
	m := Mel{Frames: []uint16{1, 2, 3, 4, 5, 6}, N: 3, NMels: 2, Pad: 9}
	for frames, want := range map[int][]uint16{
		0: {},
		2: {1, 3, 2, 4},
		3: {1, 3, 5, 2, 4, 6},
		5: {1, 3, 5, 9, 9, 2, 4, 6, 9, 9},
	} {
		if got := m.Padded([]uint16{7, 7, 7}, frames); !slices.Equal(got, want) {
			t.Errorf("to %d frames: %v, want %v", frames, got, want)
		}
	}
	room := make([]uint16, 0, 10)
	if got := m.Padded(room, 5); &got[0] != &room[:1][0] {
		t.Error("the room given was not used")
	}
}

func TestCPUConcurrently(t *testing.T) {
	c := preset(t, "whisper-80")
	alone, shared := engine(t, c, 1), engine(t, c, 2)
	long := noise(20000, 1)
	var wg sync.WaitGroup
	for i := range 16 {
		samples := long[i : 2000+1000*i]
		want := compute(t, alone, samples)
		wg.Go(func() {
			if !equal(compute(t, shared, samples), want) {
				t.Errorf("%d samples: another mel in company", len(samples))
			}
		})
	}
	wg.Wait()
}

func TestCPUWaitsForAWorker(t *testing.T) {
	e := engine(t, preset(t, "whisper-80"), 1)
	clip, err := e.Clip(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Release()
	busy := <-e.(*cpu).cores // the only worker is taken
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := clip.Compute(ctx)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("computing without a worker: %v", err)
	}
	e.(*cpu).cores <- busy
	if _, err := clip.Compute(t.Context()); err != nil {
		t.Errorf("with a worker again: %v", err)
	}
}

func TestCPURefuses(t *testing.T) {
	c := preset(t, "whisper-80")
	e := engine(t, c, 1)
	for _, n := range []int{-1, 480001} {
		want := fmt.Sprintf("clip of %d samples: whisper-80 takes at most 480000 (30 s at 16000 Hz)", n)
		if _, err := e.Clip(t.Context(), n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d samples: %v", n, err)
		}
	}
	if _, _, err := Reference(c, make([]int16, 480001)); err == nil {
		t.Error("the reference takes more than 30 s")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Clip(cancelled, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("reserving after the end of the context: %v", err)
	}
	if _, err := NewCPU(c, 0); err == nil {
		t.Error("an engine without workers")
	}
	e.Close()
	if _, err := e.Clip(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("reserving after Close: %v", err)
	}
}

func TestClipRelease(t *testing.T) {
	e := engine(t, preset(t, "whisper-80"), 1)
	for _, n := range []int{300, 200, 500} {
		clip, err := e.Clip(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if s := clip.Samples(); len(s) != n || slices.Max(s) != 0 {
			t.Errorf("room of %d samples shows what was there before", len(s))
		}
		copy(clip.Samples(), constant(n, 1000))
		clip.Release()
		clip.Release()
		if _, err := clip.Compute(t.Context()); err == nil || clip.Samples() != nil {
			t.Errorf("a released clip computes: %v", err)
		}
	}
}

func TestClipLiesAsInAFile(t *testing.T) {
	e := engine(t, preset(t, "whisper-80"), 1)
	for n := 1; n < 2000; n += 333 {
		clip, err := e.Clip(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if at := uintptr(unsafe.Pointer(&clip.Samples()[0])); at%64 != wavHeader {
			t.Errorf("%d samples lie at %d beyond a line", n, at%64)
		}
		clip.Release()
	}
}

func BenchmarkCPU(b *testing.B) {
	for _, name := range Presets() {
		b.Run(name, func(b *testing.B) {
			c := preset(b, name)
			e := engine(b, c, 1)
			samples := noise(5*c.Rate, 2)
			b.ReportAllocs()
			for b.Loop() {
				clip, err := e.Clip(b.Context(), len(samples))
				if err != nil {
					b.Fatal(err)
				}
				copy(clip.Samples(), samples)
				if _, err := clip.Compute(b.Context()); err != nil {
					b.Fatal(err)
				}
				clip.Release()
			}
			b.ReportMetric(5*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
