package tts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/tts/wire"
	"github.com/melforge/melforge/worker"
)

// piper speaks with neural voices in the worker melforge-tts.
type piper struct {
	path   string // of the worker; its absence is seen when it is needed
	worker *worker.Supervisor

	mu     sync.Mutex
	loaded map[Voice]string // the fingerprint of each voice that was loaded
}

func openPiper(o Options) *piper {
	args := []string{"--cache", o.CacheDir}
	if o.EspeakData != "" {
		args = append(args, "--espeak-data", o.EspeakData)
	}
	return &piper{
		path: o.Worker,
		worker: worker.Supervise(worker.Options{
			Path:        o.Worker,
			Args:        args,
			MemoryLimit: o.MemoryLimit,
			Timeout:     o.Timeout,
			Log:         o.Log,
		}, o.Jobs),
		loaded: make(map[Voice]string),
	}
}

// Fingerprint implements Engine. It loads the voice: a voice that cannot be
// loaded is the engine's failure, whatever becomes of the process, and must
// not be blamed on the first text that it should speak.
func (p *piper) Fingerprint(ctx context.Context, v Voice) (string, error) {
	p.mu.Lock()
	fingerprint := p.loaded[v]
	p.mu.Unlock()
	if fingerprint != "" {
		return fingerprint, nil
	}
	reply, _, err := p.call(ctx, wire.Request{Op: wire.OpLoad, Voice: v.Name, Speaker: v.Speaker})
	if err != nil {
		return "", fmt.Errorf("load voice %s: %w", v, p.remedy(err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded[v] = reply.Fingerprint
	return reply.Fingerprint, nil
}

// Speak implements Engine.
func (p *piper) Speak(ctx context.Context, u Utterance) (audio.PCM, error) {
	if !(u.Speed >= 0.25 && u.Speed <= 4) {
		return audio.PCM{}, refuse(ReasonBadSpeed, "piper speaks at speed 0.25 to 4, not %g", u.Speed)
	}
	if u.Pitch != 0 || math.IsNaN(u.Pitch) {
		return audio.PCM{}, refuse(ReasonPitchUnsupported, "piper voices have one pitch; leave it at 0")
	}
	if _, err := p.Fingerprint(ctx, u.Voice); err != nil {
		return audio.PCM{}, err
	}
	reply, samples, err := p.call(ctx, wire.Request{
		Op: wire.OpSpeak, Voice: u.Voice.Name, Speaker: u.Voice.Speaker, Text: u.Text, Speed: u.Speed,
	})
	var died *worker.Died
	switch {
	case errors.As(err, &died) && died.Timeout > 0:
		return audio.PCM{}, refuse(ReasonEngineTimeout, "%v", died)
	case errors.As(err, &died):
		return audio.PCM{}, refuse(ReasonEngineDied, "%v", died)
	case err != nil:
		return audio.PCM{}, fmt.Errorf("speak with %s: %w", u.Voice, p.remedy(err))
	case reply.Refusal != "":
		return audio.PCM{}, &Refusal{Reason: reply.Refusal, Detail: reply.Detail}
	}
	return audio.PCM{Rate: reply.Rate, Samples: samples}, nil
}

func (p *piper) call(ctx context.Context, r wire.Request) (wire.Reply, []int16, error) {
	if p.path == "" {
		return wire.Reply{}, nil, fmt.Errorf("melforge-tts: %w", fs.ErrNotExist)
	}
	req, err := r.Encode()
	if err != nil {
		return wire.Reply{}, nil, err
	}
	b, err := p.worker.Call(ctx, req)
	if err != nil {
		return wire.Reply{}, nil, err
	}
	return wire.DecodeReply(b)
}

// remedy adds what to do about a worker that is not there.
func (p *piper) remedy(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: install melforge-tts beside melforge, or use an espeak voice", err)
	}
	return err
}

func (p *piper) check(_ context.Context, v Voice) error {
	name := Voice{Engine: v.Engine, Name: v.Name}.String()
	for _, i := range piperVoices() {
		if i.Voice != name {
			continue
		}
		if v.Speaker != "" {
			return fmt.Errorf("voice %s: %s has one speaker; leave out the colon", v, name)
		}
		return nil
	}
	return fmt.Errorf("voice %s: %w in piper; `melforge voices` lists them", v, errNoVoice)
}

// Voices implements Engine.
func (p *piper) Voices(context.Context) ([]VoiceInfo, error) { return piperVoices(), nil }

// Close implements Engine.
func (p *piper) Close() error { return p.worker.Close() }
