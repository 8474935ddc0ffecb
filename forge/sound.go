package forge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/datasets"
	"github.com/melforge/melforge/gates"
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
	assets *augment.Assets

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

// sound gets the sound of one item and what was measured of it.
func (m *making) sound(ctx context.Context, it *manifests.Item, c *clip) error {
	if it.Audio != "" {
		return m.given(it, c)
	}
	c.Audio = datasets.WavFile(it.Key)
	if it.Augment != nil {
		return m.augmented(ctx, it, c)
	}
	s, err := m.plain(ctx, it, it.Key)
	if err != nil {
		return err
	}
	c.Spoken = s.fresh
	if err := m.accept(s, it.Say(), c); err != nil {
		return err
	}
	return m.listen(ctx, s, it, c)
}

// listen has a recogniser check what was spoken, where that is asked for.
func (m *making) listen(ctx context.Context, s sound, it *manifests.Item, c *clip) error {
	limit := m.plan.Settings.MaxWER
	if limit == 0 {
		return nil
	}
	if err := m.forge.speaking.Acquire(ctx, 1); err != nil { // it works as hard as a voice
		return err
	}
	defer m.forge.speaking.Release(1)
	start := time.Now()
	defer func() { m.cost.hear.since(start) }()
	text, err := m.forge.voices.Hear(ctx, s.pcm)
	var refused *tts.Refusal
	if errors.As(err, &refused) {
		return &badSound{manifests.StageSpeech, refused.Reason, refused.Detail}
	}
	if err != nil {
		return err
	}
	said := it.Say()
	if strings.Contains(said, "[[") {
		said = it.Text // phonemes are no words
	}
	c.ASR = &manifests.Heard{Text: text, WER: math.Round(1000*tts.WER(said, text)) / 1000}
	if c.ASR.WER > limit {
		return &badSound{manifests.StageAudio, "misheard", fmt.Sprintf("word error rate %.2f, the limit is %g; heard: %s", c.ASR.WER, limit, text)}
	}
	return nil
}

// sound is a clip as it is stored.
type sound struct {
	pcm   audio.PCM
	wav   []byte
	fresh bool // made now, not found
}

// plain gives the spoken clip of that key. Versions of a clip ask for it at
// the same time; it is spoken once.
func (m *making) plain(ctx context.Context, it *manifests.Item, key manifests.Key) (sound, error) {
	v, err, _ := m.forge.saying.Do(m.folder.Dir()+key.String(), func() (any, error) { return m.say(ctx, it, key) })
	if err != nil {
		return sound{}, err
	}
	return v.(sound), nil
}

// say finds a spoken clip, or speaks, trims, levels and stores it.
func (m *making) say(ctx context.Context, it *manifests.Item, key manifests.Key) (sound, error) {
	path := m.folder.Path(datasets.WavFile(key))
	if s, ok := m.stored(path); ok {
		return s, nil
	}
	pcm, err := m.speak(ctx, it)
	if err != nil {
		return sound{}, err
	}
	start := time.Now()
	defer func() { m.cost.wav.since(start) }()
	pcm, _, refused := m.plan.Settings.Gates.Apply(m.forge.resampler.Resample(pcm, m.plan.Settings.Rate), it.Say())
	if refused != nil {
		return sound{}, &badSound{manifests.StageAudio, refused.Reason, refused.Detail}
	}
	s := sound{pcm: pcm, wav: audio.AppendWAV(nil, pcm), fresh: true}
	return s, m.store(path, s.wav)
}

// stored reads a wav that is there. One at its final name is whole; one that
// does not decode was damaged later and is made again.
func (m *making) stored(path string) (sound, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return sound{}, false
	}
	pcm, err := audio.DecodeWAV(b)
	return sound{pcm: pcm, wav: b}, err == nil && pcm.Rate == m.plan.Settings.Rate
}

// augmented gives a version of a spoken clip. Its text no longer tells its
// pace, nor its ends where the speech ends: only level and length are judged.
func (m *making) augmented(ctx context.Context, it *manifests.Item, c *clip) error {
	path := m.folder.Path(c.Audio)
	if s, ok := m.stored(path); ok {
		return m.accept(s, "", c)
	}
	base, err := m.plain(ctx, it, it.Base)
	if err != nil {
		return err
	}
	start := time.Now()
	defer func() { m.cost.wav.since(start) }()
	pcm, err := augment.Apply(base.pcm, *it.Augment, m.assets)
	if err != nil {
		return err
	}
	c.Augmented = true
	s := sound{pcm: pcm, wav: audio.AppendWAV(nil, pcm)}
	if err := m.accept(s, "", c); err != nil {
		return err
	}
	return m.store(path, s.wav)
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
	pcm, err := m.forge.voices.Speak(ctx, tts.Utterance{Text: it.Say(), Voice: v, Speed: it.Speed, Pitch: it.Pitch})
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
	return m.accept(sound{pcm: m.forge.resampler.Resample(pcm, m.plan.Settings.Rate), wav: b}, it.Text, c)
}

// accept measures a clip as it is stored and lets it through the gates, or
// not. The verdict depends on what is stored alone, so that a clip that is
// found is judged as it was when it was made.
func (m *making) accept(s sound, text string, c *clip) error {
	g := m.plan.Settings.Gates
	g.Trim, g.Loudness = false, 0
	if text == "" {
		g.MaxLeadingSilence, g.MaxTrailingSilence = 0, 0
	}
	_, facts, refused := g.Apply(s.pcm, text)
	if refused != nil {
		return &badSound{manifests.StageAudio, refused.Reason, refused.Detail}
	}
	c.Clip = manifests.Clip{
		Samples: facts.Samples, Peak: facts.Peak, RMS: facts.RMS, Loudness: facts.LUFS,
		Bytes: int64(len(s.wav)), CRC32C: datasets.Checksum(s.wav),
	}
	if m.plan.Mel == nil {
		return nil
	}
	if facts.Samples > m.plan.Mel.MaxSamples() {
		return &badSound{manifests.StageAudio, gates.TooLong, fmt.Sprintf("%.2f s do not fit %s", s.pcm.Seconds(), m.plan.Mel.Name)}
	}
	if m.budget.Add(-int64(facts.Samples)) >= 0 {
		c.samples = s.pcm.Samples
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
