package forge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/tts"
)

// making is one shard in the making.
type making struct {
	forge  *Forge
	folder datasets.Folder
	plan   *manifests.Plan
	shard  manifests.ShardPlan
	clips  []clip
	cost   costs
	budget atomic.Int64 // samples that may still be kept in memory

	mu   sync.Mutex
	dirs map[string]bool // folders with new wavs, to be synced
}

// clip is an utterance on its way from the plan to a row.
type clip struct {
	manifests.Made
	reject  *manifests.Reject
	samples []int16 // nil where memory was short: read again from the wav
}

// keepSamples bounds what a shard keeps in memory between sound and mel.
const keepSamples = 128 << 20 / 2

// overlap is how many more clips than jobs are in hand, so that the voices
// need not wait while others are resampled, written and synced.
const overlap = 4

// sounds gets every clip's wav: there already, given, or spoken now.
func (m *making) sounds(ctx context.Context, items []manifests.Item) error {
	return group(ctx, len(items), overlap*m.forge.jobs, func(ctx context.Context, i int) error {
		c := &m.clips[i]
		c.Key = items[i].Key
		err := m.sound(ctx, &items[i], c)
		var bad *badSound
		switch {
		case errors.As(err, &bad):
			c.reject = &manifests.Reject{
				Line: items[i].Line, ID: items[i].ID, Stage: bad.stage, Reason: bad.reason, Detail: bad.detail,
				Text: items[i].Text, Key: &c.Key,
			}
			m.forge.progress.reject(1)
		case err != nil:
			return fmt.Errorf("line %d (%s): %w", items[i].Line, items[i].ID, err)
		case !m.countsMels():
			m.forge.progress.clip(c.Samples)
		}
		return nil
	})
}

// countsMels says what progress counts: speech is the slow part where there
// is any, mels are where there is none.
func (m *making) countsMels() bool { return m.plan.Mel != nil && m.plan.Settings.Voice == "" }

// badSound is why a clip is rejected.
type badSound struct {
	stage          manifests.Stage
	reason, detail string
}

func (b *badSound) Error() string { return b.reason + ": " + b.detail }

func (m *making) sound(ctx context.Context, it *manifests.Item, c *clip) error {
	if it.Audio != "" {
		return m.given(it, c)
	}
	c.Audio = datasets.WavFile(it.Key)
	path := m.folder.Path(c.Audio)
	if b, err := os.ReadFile(path); err == nil {
		// A wav at its final name is whole; one that does not decode was
		// damaged later and is spoken again.
		if pcm, err := audio.DecodeWAV(b); err == nil && pcm.Rate == m.plan.Settings.Rate {
			return m.accept(pcm, b, c)
		}
	}
	pcm, err := m.speak(ctx, it)
	if err != nil {
		return err
	}
	c.Spoken = true
	start := time.Now()
	defer func() { m.cost.wav.since(start) }()
	pcm = m.forge.resampler.Resample(pcm, m.plan.Settings.Rate)
	b := audio.AppendWAV(nil, pcm)
	if err := m.accept(pcm, b, c); err != nil {
		return err
	}
	return m.store(path, b)
}

// speak borrows a voice.
func (m *making) speak(ctx context.Context, it *manifests.Item) (audio.PCM, error) {
	v, err := tts.ParseVoice(it.Voice)
	if err != nil {
		return audio.PCM{}, err
	}
	if err := m.forge.speaking.Acquire(ctx, 1); err != nil {
		return audio.PCM{}, err
	}
	defer m.forge.speaking.Release(1)
	start := time.Now() // waiting for a voice is no cost of speech
	defer func() { m.cost.speech.since(start) }()
	pcm, err := m.forge.voices.Speak(ctx, tts.Utterance{Text: it.Text, Voice: v, Speed: it.Speed, Pitch: it.Pitch})
	var refused *tts.Refusal
	if errors.As(err, &refused) {
		return pcm, &badSound{manifests.StageSpeech, refused.Reason, refused.Detail}
	}
	return pcm, err
}

// given takes a wav that the user has. It stays where it is.
func (m *making) given(it *manifests.Item, c *clip) error {
	start := time.Now()
	defer func() { m.cost.wav.since(start) }()
	c.Audio = it.Audio
	if rel, err := filepath.Rel(m.folder.Dir(), it.Audio); err == nil && filepath.IsLocal(rel) {
		c.Audio = filepath.ToSlash(rel)
	}
	b, err := os.ReadFile(it.Audio)
	if err != nil {
		return &badSound{manifests.StageAudio, "unreadable-audio", err.Error()}
	}
	pcm, err := audio.DecodeWAV(b)
	if err != nil {
		return &badSound{manifests.StageAudio, "bad-wav", fmt.Sprintf("%s: %v", it.Audio, err)}
	}
	return m.accept(m.forge.resampler.Resample(pcm, m.plan.Settings.Rate), b, c)
}

// accept measures a clip and lets it through the gates, or not.
func (m *making) accept(pcm audio.PCM, wav []byte, c *clip) error {
	facts := audio.Measure(pcm)
	c.Clip = manifests.Clip{
		Samples: facts.Samples, Peak: round6(facts.Peak), RMS: round6(facts.RMS),
		Bytes: int64(len(wav)), CRC32C: datasets.Checksum(wav),
	}
	if bad := gate(pcm.Seconds(), facts, m.plan.Settings.Gates); bad != nil {
		return bad
	}
	if m.plan.Mel != nil {
		if facts.Samples > m.plan.Mel.MaxSamples() {
			return &badSound{manifests.StageAudio, "too-long", fmt.Sprintf("%.2f s do not fit %s", pcm.Seconds(), m.plan.Mel.Name)}
		}
		if m.budget.Add(-int64(facts.Samples)) >= 0 {
			c.samples = pcm.Samples
		}
	}
	return nil
}

// gate judges a clip by its facts.
func gate(seconds float64, f audio.Facts, g manifests.Gates) error {
	switch {
	case f.Samples == 0:
		return &badSound{manifests.StageAudio, "no-audio", "no samples at all"}
	case seconds < g.MinSeconds:
		return &badSound{manifests.StageAudio, "too-short", fmt.Sprintf("%.3f s, the limit is %g s", seconds, g.MinSeconds)}
	case seconds > g.MaxSeconds:
		return &badSound{manifests.StageAudio, "too-long", fmt.Sprintf("%.3f s, the limit is %g s", seconds, g.MaxSeconds)}
	case f.Peak < g.MinPeak:
		return &badSound{manifests.StageAudio, "silent", fmt.Sprintf("peak %.5f of full scale, the limit is %g", f.Peak, g.MinPeak)}
	}
	return nil
}

// store commits a wav. Its folder is synced with those of the whole shard.
func (m *making) store(path string, b []byte) error {
	dir := filepath.Dir(path)
	m.mu.Lock()
	known := m.dirs[dir]
	m.dirs[dir] = true
	m.mu.Unlock()
	if !known {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	tmp := commit.Temp(path)
	if err := writeSynced(tmp, b); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return commit.Place("wav", path)
}

func writeSynced(path string, b []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncWavs makes the names of the shard's new wavs last.
func (m *making) syncWavs() error {
	if len(m.dirs) == 0 {
		return nil
	}
	for dir := range m.dirs {
		if err := commit.SyncDir(dir); err != nil {
			return err
		}
	}
	return commit.SyncDir(m.folder.Path("wavs"))
}

func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }
