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
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/shards"
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
	file   *shards.Writer // nil until it is begun
	gaps   atomic.Bool    // a clip was rejected, whose row will not be in the file
	stale  bool           // a clip has not the length that was foreseen
	puts   chan struct{}  // a place for each row that may be written at a time
	budget atomic.Int64   // FP16 values that may still be kept in memory
	memory slabs
	assets *augment.Assets

	mu   sync.Mutex
	dirs map[string]bool // folders with new wavs, to be synced
}

// newMaking prepares to make a shard of these items.
func (f *Forge) newMaking(folder datasets.Folder, p *manifests.Plan, s manifests.ShardPlan, items []manifests.Item) *making {
	m := &making{forge: f, folder: folder, plan: p, shard: s, clips: make([]clip, len(items)), dirs: map[string]bool{}}
	for i, it := range items {
		c := &m.clips[i]
		c.Key, c.text, c.row = it.Key, it.Text, i
	}
	m.cost.name(s.Name)
	m.puts = make(chan struct{}, m.writers())
	m.budget.Store(keepValues)
	m.memory.pool = &f.slabs
	return m
}

// sounds gets every clip's wav: there already, given, or spoken now.
func (m *making) sounds(ctx context.Context, items []manifests.Item) error {
	return m.forge.queue.each(ctx, len(items), m.weight(), func(ctx context.Context, i int) error {
		c := &m.clips[i]
		err := m.sound(ctx, &items[i], c)
		var bad *badSound
		var file *badFile
		switch {
		case errors.As(err, &bad):
			c.reject = &manifests.Reject{
				Line: items[i].Line, ID: items[i].ID, Stage: bad.stage, Reason: bad.reason, Detail: bad.detail,
				Text: items[i].Text, Key: &c.Key,
			}
			m.gaps.Store(true)
			m.forge.progress.reject(1)
		case errors.As(err, &file):
			return fmt.Errorf("shard %s: %w", m.shard.Name, err)
		case err != nil:
			return fmt.Errorf("line %d (%s): %w", items[i].Line, items[i].ID, err)
		default:
			m.forge.progress.clip(c.Samples)
		}
		return nil
	})
}

// sound gets the sound of one item, what was measured of it, and its mel.
func (m *making) sound(ctx context.Context, it *manifests.Item, c *clip) error {
	if it.Audio != "" && it.Part.IsZero() {
		return m.given(ctx, it, c)
	}
	c.Audio = datasets.WavFile(it.Key)
	var s sound
	var err error
	if !it.Part.IsZero() {
		s, err = m.part(it, c)
	} else {
		s, err = m.stores(ctx, it, c)
	}
	if err != nil {
		return err
	}
	return m.computeFrom(ctx, s.pcm.Samples, c)
}

// stores gets a sound that the dataset holds, or will.
func (m *making) stores(ctx context.Context, it *manifests.Item, c *clip) (sound, error) {
	if it.Augment != nil {
		return m.augmented(ctx, it, c)
	}
	s, err := m.plain(ctx, it, it.Key)
	if err != nil {
		return s, err
	}
	_, early := m.forge.early.LoadAndDelete(m.folder.Path(c.Audio))
	c.Spoken = s.fresh || early
	if err := m.accept(s, it.Say(), c); err != nil {
		return s, err
	}
	return s, m.listen(ctx, s, it, c)
}

// accept judges a sound and describes its wav.
func (m *making) accept(s sound, text string, c *clip) error {
	c.Bytes, c.CRC32C = int64(len(s.wav)), datasets.Checksum(s.wav)
	return m.judge(s.pcm, text, c)
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
	defer func() { m.cost.hear.since(start, "listen") }()
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
	if it.Voice == "" {
		return sound{}, &badSound{manifests.StageAudio, "missing-audio",
			path + " is a part of a wav, and gone: run the command again that split it, with --repair"}
	}
	pcm, err := m.speak(ctx, it)
	if err != nil {
		return sound{}, err
	}
	start := time.Now()
	defer func() { m.cost.wav.since(start, "level and store") }()
	pcm, _, refused := m.plan.Settings.Gates.Apply(m.forge.resampler.Resample(pcm, m.plan.Settings.Rate), it.Say())
	if refused != nil {
		return sound{}, &badSound{manifests.StageAudio, refused.Reason, refused.Detail}
	}
	s := sound{pcm: pcm, wav: audio.AppendWAV(nil, pcm), fresh: true}
	if it.Augment != nil {
		m.forge.early.Store(path, true)
	}
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
func (m *making) augmented(ctx context.Context, it *manifests.Item, c *clip) (sound, error) {
	path := m.folder.Path(c.Audio)
	if s, ok := m.stored(path); ok {
		return s, m.accept(s, "", c)
	}
	base, err := m.plain(ctx, it, it.Base)
	if err != nil {
		return sound{}, err
	}
	start := time.Now()
	defer func() { m.cost.wav.since(start, "augment") }()
	pcm, err := augment.Apply(base.pcm, *it.Augment, m.assets)
	if err != nil {
		return sound{}, err
	}
	c.Augmented = true
	s := sound{pcm: pcm, wav: audio.AppendWAV(nil, pcm)}
	if err := m.accept(s, "", c); err != nil {
		return s, err
	}
	return s, m.store(path, s.wav)
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
	defer func() { m.cost.speech.since(start, "speak") }()
	pcm, err := m.forge.voices.Speak(ctx, tts.Utterance{Text: it.Say(), Voice: v, Speed: it.Speed, Pitch: it.Pitch})
	var refused *tts.Refusal
	if errors.As(err, &refused) {
		return pcm, &badSound{manifests.StageSpeech, refused.Reason, refused.Detail}
	}
	return pcm, err
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
