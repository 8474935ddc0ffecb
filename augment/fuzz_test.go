package augment

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/melforge/melforge/audio"
)

func FuzzApply(f *testing.F) {
	r := everything()
	a := load(f, r, 16000)
	f.Add([]byte{}, 16000, 1.1, 0.5, 10.0, 3000.0, true, 0.0, uint8(1), 5)
	f.Add([]byte{1, 0, 255, 127, 0, 128}, 16000, 0.5, 1.0, -40.0, 200.0, true, 60.0, uint8(2), 1<<40)
	f.Add(slices.Repeat([]byte{255, 127, 0, 128}, 900), 16000, 0.0, 0.0, 0.0, 0.0, true, 0.0, uint8(0), 0)
	f.Add(slices.Repeat([]byte{255, 127}, 900), 8000, 2.0, 0.0, 100.0, 7999.0, false, -60.0, uint8(7), 0)
	f.Add(make([]byte, 400), 44100, 0.97, 0.0, 0.0, 0.0, true, 3.0, uint8(0), 0)
	f.Fuzz(func(t *testing.T, data []byte, rate int, speed, wet, snr, hz float64, phone bool, gain float64, files uint8, offset int) {
		p := audio.PCM{Rate: rate, Samples: make([]int16, min(len(data)/2, 20000))}
		for i := range p.Samples {
			p.Samples[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
		}
		d := Drawn{Speed: speed, LowPass: hz, Telephone: phone, Gain: gain}
		if n := int(files % 4); n > 0 {
			d.Noise = Mix{a.noises[n-1].Asset, offset, snr}
		}
		if n := int(files / 4 % 4); n > 0 {
			d.Reverb = Room{a.impulses[n-1].Asset, wet}
		}
		if phone && (rate > 48000 || rate%50 != 0) {
			return // filters for odd pairs of rates are large and slow, no more
		}
		checkApply(t, p, d, a)
	})
}

func checkApply(t *testing.T, p audio.PCM, d Drawn, a *Assets) {
	before := slices.Clone(p.Samples)
	out, err := Apply(p, d, a)
	if !slices.Equal(before, p.Samples) {
		t.Fatal("the input was written to")
	}
	if err != nil {
		return
	}
	want := len(p.Samples)
	if d.Speed != 0 {
		lo, hi := float64(want)/(d.Speed+0.006), float64(want)/(d.Speed-0.006)+1
		if n := float64(len(out.Samples)); n < lo || n > hi {
			t.Fatalf("%d samples at speed %v became %v", want, d.Speed, n)
		}
	} else if len(out.Samples) != want {
		t.Fatalf("%d samples became %d", want, len(out.Samples))
	}
	if d == (Drawn{}) || want == 0 {
		return
	}
	if slices.Min(out.Samples) == math.MinInt16 {
		t.Fatal("a sample beyond the largest magnitude")
	}
	x, err := a.effects(p, d)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("sample %d is %v", i, v)
		}
	}
	again, err := Apply(p, d, a)
	if err != nil || !slices.Equal(out.Samples, again.Samples) {
		t.Fatalf("twice the same gives other samples (%v)", err)
	}
}

func FuzzDraw(f *testing.F) {
	r := everything()
	a := load(f, r, 16000)
	f.Add(int64(0), "", 0)
	f.Add(int64(-1), "a\x00\xff", -5)
	f.Fuzz(func(t *testing.T, seed int64, id string, version int) {
		d := Draw(r, a, seed, id, version)
		if err := d.validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := Apply(speech(16000, 0.01), d, a); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkApply(b *testing.B) {
	r := everything()
	a := load(b, r, 16000)
	p := speech(16000, 5)
	one := func(name string, d Drawn) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				apply(b, p, d, a)
			}
			b.ReportMetric(p.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
	one("speed", Drawn{Speed: 1.1})
	one("reverb", Drawn{Reverb: Room{a.impulses[1].Asset, 1}})
	one("noise", Drawn{Noise: Mix{a.noises[0].Asset, 0, 10}})
	one("lowpass", Drawn{LowPass: 4000})
	one("telephone", Drawn{Telephone: true})
	one("gain", Drawn{Gain: -3})
	b.Run("drawn", func(b *testing.B) {
		i := 0
		for b.Loop() {
			apply(b, p, Draw(r, a, 1, fmt.Sprint(i%200), 0), a)
			i++
		}
		b.ReportMetric(p.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
	})
}
