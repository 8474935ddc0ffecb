package forge

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// given takes a wav that the user has. It stays where it is.
func (m *making) given(ctx context.Context, it *manifests.Item, c *clip) error {
	start := time.Now()
	c.Audio = it.Audio
	if rel, err := filepath.Rel(m.folder.Dir(), it.Audio); err == nil && filepath.IsLocal(rel) {
		c.Audio = filepath.ToSlash(rel)
	}
	f, err := audio.OpenWAV(it.Audio)
	if err != nil {
		return badWAV(err)
	}
	defer f.Close()
	if err := m.tooLong(f, it); err != nil {
		return err
	}
	place, err := m.direct(ctx, f, c)
	if err != nil {
		return err
	}
	if place != nil {
		defer place.Release()
	}
	m.cost.wav.since(start, "open and wait for room")
	pcm, err := m.take(f, it, place, c)
	if err != nil {
		return err
	}
	if place != nil {
		return m.compute(ctx, place, c)
	}
	return m.computeFrom(ctx, pcm.Samples, c)
}

// direct asks the engine for room that a wav can be read into as it is. There is
// none where it has to be resampled, or memory is short.
func (m *making) direct(ctx context.Context, f *audio.File, c *clip) (mel.Clip, error) {
	if f.Rate() != m.plan.Settings.Rate || !m.wantsMel(f.Samples(), c) {
		return nil, nil
	}
	return m.forge.engine.Clip(ctx, f.Samples())
}

// take reads a wav at the plan's rate, into place if there is one, judges it and
// takes its checksum: all that keeps a core busy until the engine computes.
func (m *making) take(f *audio.File, it *manifests.Item, place mel.Clip, c *clip) (pcm audio.PCM, err error) {
	defer m.forge.queue.turn()()
	start := time.Now()
	defer func() { m.cost.wav.since(start, "read and judge") }()
	pcm.Rate = f.Rate()
	if place != nil {
		pcm.Samples = place.Samples()
	} else {
		pcm.Samples = make([]int16, f.Samples())
	}
	if err := f.ReadInto(pcm.Samples); err != nil {
		return pcm, badWAV(err)
	}
	pcm = m.forge.resampler.Resample(pcm, m.plan.Settings.Rate)
	if err := m.judge(pcm, it.Text, c); err != nil {
		return pcm, err
	}
	sum := crc32.New(castagnoli)
	read := pcm.Samples
	if pcm.Rate != f.Rate() {
		read = nil
	}
	if c.Bytes, err = f.CopyTo(sum, read); err != nil {
		return pcm, badWAV(err)
	}
	c.CRC32C = fmt.Sprintf("%08x", sum.Sum32())
	return pcm, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// badWAV says why a file cannot be used: the system does not give it, or it is
// no wav.
func badWAV(err error) error {
	var path *fs.PathError
	var number syscall.Errno
	if errors.As(err, &path) || errors.As(err, &number) {
		return &badSound{manifests.StageAudio, "unreadable-audio", err.Error()}
	}
	return &badSound{manifests.StageAudio, "bad-wav", err.Error()}
}

// tooLong rejects a wav by its length, before memory is spent on it.
func (m *making) tooLong(f *audio.File, it *manifests.Item) error {
	rate := m.plan.Settings.Rate
	n := audio.Resampled(f.Samples(), f.Rate(), rate)
	most := 0
	if m.plan.Mel != nil {
		most = m.plan.Mel.MaxSamples()
	}
	most = m.plan.Settings.Gates.MaxSamples(rate, most)
	if most == 0 || n <= most {
		return nil
	}
	advice := "--long split would cut it into parts"
	if it.Text != "" {
		advice = "cut it, and its text with it"
	}
	return &badSound{manifests.StageAudio, gates.TooLong,
		fmt.Sprintf("%.5f s, the limit is %g s: %s", float64(n)/float64(rate), float64(most)/float64(rate), advice)}
}

// part takes a part of a wav that is too long. It becomes a wav of the dataset.
func (m *making) part(it *manifests.Item, c *clip) (sound, error) {
	path := m.folder.Path(c.Audio)
	if s, ok := m.stored(path); ok {
		return s, m.accept(s, "", c)
	}
	start := time.Now()
	defer func() { m.cost.wav.since(start, "cut") }()
	f, err := audio.OpenWAV(it.Audio)
	if err != nil {
		return sound{}, badWAV(err)
	}
	defer f.Close()
	pcm := audio.PCM{Rate: f.Rate(), Samples: make([]int16, it.Part.To-it.Part.From)}
	if err := f.ReadPart(pcm.Samples, it.Part.From); err != nil {
		return sound{}, badWAV(err)
	}
	pcm = m.forge.resampler.Resample(pcm, m.plan.Settings.Rate)
	s := sound{pcm: pcm, wav: audio.AppendWAV(nil, pcm)}
	if err := m.accept(s, "", c); err != nil {
		return s, err
	}
	return s, m.store(path, s.wav)
}
