package tts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/tts/wire"
	"github.com/melforge/melforge/worker"
)

// piper speaks with neural voices in the worker melforge-tts.
type piper struct {
	native
	cache string
	log   func(line string)

	resampler audio.Resampler // for other pitches

	mu     sync.Mutex
	loaded map[Voice]wire.Reply // of each voice that was loaded
}

func openPiper(o Options) *piper {
	return &piper{native: openNative(o), cache: o.CacheDir, log: o.Log, loaded: make(map[Voice]wire.Reply)}
}

// load makes a voice ready: one that cannot be loaded is the engine's failure,
// whatever becomes of the process, and must not be blamed on the first text
// that it should speak.
func (p *piper) load(ctx context.Context, v Voice) (wire.Reply, error) {
	if v.Speaker == AnySpeaker {
		v.Speaker = ""
	}
	p.mu.Lock()
	known, ok := p.loaded[v]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	reply, _, err := p.call(ctx, wire.Request{Op: wire.OpLoad, Voice: v.Name, Speaker: v.Speaker}, nil)
	if err != nil {
		return wire.Reply{}, fmt.Errorf("load voice %s: %w", v, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded[v] = reply
	return reply, nil
}

// Fingerprint implements Engine.
func (p *piper) Fingerprint(ctx context.Context, v Voice) (string, error) {
	reply, err := p.load(ctx, v)
	return reply.Fingerprint, err
}

// Speak implements Engine.
func (p *piper) Speak(ctx context.Context, u Utterance) (audio.PCM, error) {
	if !(math.Abs(u.Pitch) <= 12) {
		return audio.PCM{}, refuse(ReasonBadPitch, "piper's pitch goes from -12 to 12 semitones, not %g", u.Pitch)
	}
	pitch := newShift(u.Pitch, &p.resampler)
	if s := pitch.speed(u.Speed); !(s >= 0.25 && s <= 4) {
		return audio.PCM{}, refuse(ReasonBadSpeed, "piper speaks at speed 0.25 to 4, not %g at a pitch of %g", u.Speed, u.Pitch)
	}
	if u.Voice.Speaker == AnySpeaker {
		return audio.PCM{}, fmt.Errorf("voice %s: which of its speakers was never decided", u.Voice)
	}
	if _, err := p.load(ctx, u.Voice); err != nil {
		return audio.PCM{}, err
	}
	reply, samples, err := p.call(ctx, wire.Request{
		Op: wire.OpSpeak, Voice: u.Voice.Name, Speaker: u.Voice.Speaker, Text: u.Text, Speed: pitch.speed(u.Speed),
	}, nil)
	var died *worker.Died
	switch {
	case errors.As(err, &died) && died.Timeout > 0:
		return audio.PCM{}, refuse(ReasonEngineTimeout, "%v", died)
	case errors.As(err, &died):
		return audio.PCM{}, refuse(ReasonEngineDied, "%v", died)
	case err != nil:
		return audio.PCM{}, fmt.Errorf("speak with %s: %w", u.Voice, err)
	case reply.Refusal != "":
		return audio.PCM{}, &Refusal{Reason: reply.Refusal, Detail: reply.Detail}
	}
	return pitch.apply(audio.PCM{Rate: reply.Rate, Samples: samples}), nil
}

// find returns what is known of a voice, of whichever speaker.
func (p *piper) find(v Voice) (VoiceInfo, bool) {
	name := Voice{Engine: v.Engine, Name: v.Name}.String()
	for _, i := range piperVoices() {
		if i.Voice == name {
			return i, true
		}
	}
	i, err := addedVoice(p.cache, v.Name)
	return i, err == nil
}

func (p *piper) check(_ context.Context, v Voice) error {
	info, ok := p.find(v)
	switch {
	case ok && v.Speaker != "" && info.Speakers <= 1:
		return &UnknownVoice{Name: v.String(), Why: "it has one speaker; leave out the colon"}
	case ok && v.Speaker != AnySpeaker && v.Speaker != "" && !numberBelow(v.Speaker, info.Speakers):
		return &UnknownVoice{Name: v.String(), Why: fmt.Sprintf("its speakers are 0 to %d, and * for any", info.Speakers-1)}
	case ok:
		return nil
	case v.Name == "libritts":
		return &UnknownVoice{Name: v.String(), Why: "it is not here yet; `melforge voices add libritts` fetches it"}
	}
	return fmt.Errorf("voice %s: %w in piper; `melforge voices` lists them", v, errNoVoice)
}

func (p *piper) lang(v Voice) string {
	info, _ := p.find(v)
	return info.Lang
}

// Voices implements Engine.
func (p *piper) Voices(context.Context) ([]VoiceInfo, error) {
	all := piperVoices()
	dirs, err := filepath.Glob(filepath.Join(p.cache, wire.VoicesDir, "*", wire.InfoFile))
	if err != nil {
		return nil, err
	}
	for _, path := range dirs {
		name := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(name, ".") {
			continue // one that is just being made
		}
		info, err := addedVoice(p.cache, name)
		if err == nil {
			all = append(all, info)
		} else if p.log != nil {
			p.log(fmt.Sprintf("an added voice cannot be used: %v", err))
		}
	}
	return all, nil
}

// Close implements Engine.
func (p *piper) Close() error { return p.worker.Close() }
