package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/x448/float16"

	"github.com/melforge/melforge/gpu/wire"
	"github.com/melforge/melforge/mel"
)

func preset(t testing.TB, name string) mel.Config {
	t.Helper()
	c, err := mel.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start opens an engine with device 0 alone, unless told otherwise.
func start(t testing.TB, o Options, name string) *Engine {
	t.Helper()
	if o.Devices == nil {
		o.Devices = []int{0}
	}
	e, err := Open(t.Context(), o, preset(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// noise is a clip that no other seed gives.
func noise(seed uint64, n int) []int16 {
	r := rand.New(rand.NewPCG(seed, 7))
	s := make([]int16, n)
	for i := range s {
		s[i] = int16(r.NormFloat64() * 3000)
	}
	return s
}

// lengths are n lengths of clips, among them the shortest and, unless the tests
// shall be short, the longest.
func lengths(n int) []int {
	r := rand.New(rand.NewPCG(5, 6))
	all := []int{1, 160, 0, 5161}
	if !testing.Short() {
		all = append(all, 480000, 479999)
	}
	for len(all) < n {
		all = append(all, 1+r.IntN(24000))
	}
	return all[:n]
}

func compute(ctx context.Context, e mel.Engine, samples []int16) (mel.Mel, error) {
	clip, err := e.Clip(ctx, len(samples))
	if err != nil {
		return mel.Mel{}, err
	}
	defer clip.Release()
	copy(clip.Samples(), samples)
	m, err := clip.Compute(ctx)
	m.Frames = slices.Clone(m.Frames)
	return m, err
}

// computeAll computes many clips from several goroutines. Before each it calls
// what is given besides.
func computeAll(t testing.TB, e mel.Engine, sizes []int, workers int, before ...func(i int)) []mel.Mel {
	t.Helper()
	mels := make([]mel.Mel, len(sizes))
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				var err error
				if mels[i], err = compute(t.Context(), e, noise(uint64(i), sizes[i])); err != nil {
					t.Errorf("clip %d of %d samples: %v", i, sizes[i], err)
				}
			}
		})
	}
	for i := range sizes {
		for _, f := range before {
			f(i)
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return mels
}

func equal(a, b mel.Mel) bool {
	return a.N == b.N && a.NMels == b.NMels && a.Pad == b.Pad && slices.Equal(a.Frames, b.Frames)
}

// near holds a GPU's mel to the CPU's: FP16 values at most one apart, but
// around 0, where FP16 is finer than float32 can be here.
func near(c mel.Config, a, b mel.Mel) error {
	zero := float16.Fromfloat32(float32(0.04 / c.Divisor)).Bits()
	if a.N != b.N || a.NMels != b.NMels || a.Pad != b.Pad {
		return fmt.Errorf("%d frames of %d and padding %#x, want %d of %d and %#x", a.N, a.NMels, a.Pad, b.N, b.NMels, b.Pad)
	}
	for i, v := range a.Frames {
		w := b.Frames[i]
		small := v&0x7fff < zero && w&0x7fff < zero
		if d := int(v) - int(w); (d < -1 || d > 1) && !small {
			return fmt.Errorf("frame %d, mel %d: %#x, want %#x", i/a.NMels, i%a.NMels, v, w)
		}
	}
	return nil
}

func TestEngineIsTheReference(t *testing.T) {
	for _, name := range mel.Presets() {
		e := start(t, options(t, "worker"), name)
		cpu, err := mel.NewCPU(e.Config(), 2)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != "cuda" {
			t.Errorf("engine %q", e.Name())
		}
		sizes := lengths(40)
		got, want := computeAll(t, e, sizes, 7), computeAll(t, cpu, sizes, 2)
		for i := range got {
			if err := near(e.Config(), got[i], want[i]); err != nil {
				t.Errorf("%s, %d samples: %v", name, sizes[i], err)
			}
		}
		t.Log(e.Describe())
	}
}

// TestLongClips has clips that no slot has room for: they are for the fallback.
func TestLongClips(t *testing.T) {
	o := options(t, "worker")
	e := start(t, o, "torchaudio-db")
	if _, err := e.Clip(t.Context(), wire.MaxClip(e.Config())+1); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("a long clip without a fallback: %v", err)
	}
	cpu, err := mel.NewCPU(e.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	o.Fallback = cpu
	e = start(t, o, "torchaudio-db")
	c, err := e.Clip(t.Context(), wire.MaxClip(e.Config())+1)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	// A clip without a frame needs no device.
	e = start(t, o, "kaldi-fbank-80")
	if m, err := compute(t.Context(), e, noise(1, 100)); err != nil || m.N != 0 {
		t.Errorf("%d frames, %v", m.N, err)
	}
}

// TestDeterministic wants the same bytes whatever company a clip has.
func TestDeterministic(t *testing.T) {
	sizes := lengths(60)
	want := computeAll(t, start(t, options(t, "worker"), "whisper-80"), sizes, 1)
	for _, workers := range []int{3, 16} {
		for i, m := range computeAll(t, start(t, options(t, "worker"), "whisper-80"), sizes, workers) {
			if !equal(m, want[i]) {
				t.Errorf("clip %d of %d samples is another in company of %d", i, sizes[i], workers)
			}
		}
	}
}

// TestFaults provokes each fault while batches are in flight and wants the
// very bytes of an undisturbed run.
func TestFaults(t *testing.T) {
	sizes := lengths(60)
	want := computeAll(t, start(t, options(t, "worker"), "whisper-80"), sizes, 8)
	for _, fault := range []string{wire.ProvokeDeath, wire.ProvokeHang, wire.ProvokeFault} {
		t.Run(fault, func(t *testing.T) {
			o := options(t, "worker")
			o.Timeout = 2 * time.Second
			o.provoke = fault + "@" + filepath.Join(t.TempDir(), "provoked")
			var mu sync.Mutex
			var said []string
			o.Log = func(line string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, line)
			}
			got := computeAll(t, start(t, o, "whisper-80"), sizes, 8)
			for i := range got {
				if !equal(got[i], want[i]) {
					t.Errorf("clip %d of %d samples is another after the fault", i, sizes[i])
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(strings.Join(said, "\n"), "restarting") {
				t.Errorf("no restart was reported: %q", said)
			}
			t.Logf("%q", said)
		})
	}
}

// TestKilledOverAndOver kills the worker from outside, whatever it is doing.
func TestKilledOverAndOver(t *testing.T) {
	sizes := lengths(60)
	want := computeAll(t, start(t, options(t, "worker"), "whisper-80"), sizes, 8)
	o := options(t, "worker")
	o.Level = 1 // killed again and again, a worker seems guilty: the level may fall
	kills := 0
	got := computeAll(t, start(t, o, "whisper-80"), sizes, 8, func(i int) {
		if i%30 == 15 { // a third death within moments would give the device up
			kills += killChildren()
		}
	})
	if kills == 0 {
		t.Error("nothing was killed")
	}
	for i := range got {
		if !equal(got[i], want[i]) {
			t.Errorf("clip %d of %d samples is another after the kills", i, sizes[i])
		}
	}
}

// TestGivenUp has a worker that always dies: the level falls, then the device
// is given up, and the fallback computes.
func TestGivenUp(t *testing.T) {
	if *cudaWorker != "" {
		t.Skip("only a fake worker dies every time")
	}
	cpu, err := mel.NewCPU(preset(t, "whisper-80"), 1)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, "worker")
	o.Level, o.provoke = 0, wire.ProvokeDeath
	e := start(t, o, "whisper-80")
	if _, err := compute(t.Context(), e, noise(1, 1000)); err == nil || !strings.Contains(err.Error(), "GPU 0 (Fake 1) is given up") {
		t.Errorf("without a fallback: %v", err)
	}
	o.Fallback = cpu
	e = start(t, o, "whisper-80")
	for i := range uint64(3) {
		got, err := compute(t.Context(), e, noise(i, 1000))
		want, _ := compute(t.Context(), cpu, noise(i, 1000))
		if err != nil || !equal(got, want) {
			t.Errorf("with a fallback: %v", err)
		}
	}
	o.Level = 1 // whose worker dies too, but the one of the level below does not provoke
	e = start(t, o, "whisper-80")
	if _, err := compute(t.Context(), e, noise(1, 1000)); err != nil || !strings.Contains(e.Describe(), "level 0") {
		t.Errorf("level 1 with deaths: %v, %s", err, e.Describe())
	}
}

// TestTwoDevices loses one of two devices for good, or, on a card that stands for
// two, both workers for a moment.
func TestTwoDevices(t *testing.T) {
	o := options(t, "worker")
	sizes := lengths(30)
	if *cudaWorker != "" { // one card stands for two, with a worker each
		e := start(t, o, "whisper-80")
		want := computeAll(t, e, sizes, 4)
		second, err := e.open(t.Context(), e.rings[0].device.info, nil)
		if err != nil {
			t.Fatal(err)
		}
		e.rings = append(e.rings, second)
		for i, m := range computeAll(t, e, sizes, 16, func(i int) {
			if i == 15 && killChildren() < 2 {
				t.Error("there are not two workers")
			}
		}) {
			if !equal(m, want[i]) {
				t.Errorf("clip %d is another", i)
			}
		}
		if second.device.timing.In == 0 {
			t.Error("the second worker had nothing to do")
		}
		return
	}
	o.Devices = []int{0, 1}
	e := start(t, o, "whisper-80")
	want := computeAll(t, e, sizes, 4)
	e = start(t, o, "whisper-80")
	e.rings[0].device.super = start(t, Options{Worker: o.Worker, env: o.env, provoke: wire.ProvokeDeath, Log: o.Log}, "whisper-80").rings[0].device.super
	for i, m := range computeAll(t, e, sizes, 4) {
		if !equal(m, want[i]) {
			t.Errorf("clip %d is another", i)
		}
	}
}

func TestContextAndRelease(t *testing.T) {
	e := start(t, options(t, "worker"), "whisper-80")
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Clip(dead, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	if _, err := e.Clip(t.Context(), 480001); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("a clip that is too long: %v", err)
	}
	// More than fits is reserved and released without being computed.
	for range 100 {
		c, err := e.Clip(t.Context(), 480000)
		if err != nil {
			t.Fatal(err)
		}
		c.Release()
		c.Release()
		if _, err := c.Compute(t.Context()); err == nil || c.Samples() != nil {
			t.Error("a released clip computes")
		}
	}
	// All room is taken: who waits for more gives up with its context, and
	// gets it once something is released.
	var held []mel.Clip
	for range e.rings[0].layout.Slots * (e.rings[0].layout.Samples / 480000) {
		c, err := e.Clip(t.Context(), 480000)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := e.Clip(short, 480000); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want deadline exceeded", err)
	}
	got := make(chan error)
	go func() {
		_, err := compute(t.Context(), e, noise(1, 480000))
		got <- err
	}()
	for _, c := range held {
		c.Release()
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Clip(t.Context(), 100); !errors.Is(err, mel.ErrClosed) {
		t.Errorf("%v, want closed", err)
	}
}
