package tts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/melforge/melforge/audio"
)

// Options say how a Set opens its engines.
type Options struct {
	Worker      string            // path of melforge-tts, for the piper voices
	CacheDir    string            // where the worker unpacks its voices
	EspeakData  string            // folder espeak-ng-data for the worker; empty: it looks for one
	Jobs        int               // utterances in flight in each engine; 0: 1
	MemoryLimit uint64            // bytes of memory the worker may take; 0: by the number of Jobs
	Timeout     time.Duration     // for one utterance; 0: two minutes
	Log         func(line string) // what engines print, and their restarts; may be nil

	PartChars int  // longer texts are spoken in parts; 0: the constant PartChars
	AnyScript bool // speak texts that are not in the script of the voice's language
	// Configured are the user's own voices, as ReadVoices returns them.
	Configured Configured
	// Getenv looks up the environment variables that Configured names, for
	// keys. nil: there are none.
	Getenv func(name string) string
}

// Measured: with utterances of 500 characters at half speed, two at a time, the
// worker takes 4.7 GB, most of it kept between utterances. The limit is for
// what is far beyond.
const (
	defaultTimeout = 2 * time.Minute
	workerMemory   = 2 << 30
	memoryPerJob   = 3 << 30
)

// memoryLimit is what the worker may take: enough for its jobs, but never so
// much that the machine would fall before it does.
func memoryLimit(jobs int) uint64 {
	limit := workerMemory + memoryPerJob*uint64(jobs)
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		limit = min(limit, uint64(machine.Totalram)*uint64(machine.Unit)/4*3)
	}
	return limit
}

func (o Options) withDefaults() Options {
	o.Jobs = max(o.Jobs, 1)
	if o.MemoryLimit == 0 {
		o.MemoryLimit = memoryLimit(o.Jobs)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.PartChars <= 0 {
		o.PartChars = PartChars
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	return o
}

// Set is every engine, opened when first needed. It is safe for concurrent use.
type Set struct {
	o Options

	mu     sync.Mutex
	open   map[string]engine
	prints map[Voice]string
	ear    *native
	closed bool
}

var errClosed = errors.New("tts: closed")

// engine is an Engine of this package.
type engine interface {
	Engine
	// check says why v cannot be spoken with, errNoVoice if it is not there.
	check(ctx context.Context, v Voice) error
	// lang is the language that v speaks, "" if that is any or unknown.
	lang(v Voice) string
}

// engineNames are all engines, the default one first.
func engineNames() []string { return []string{"piper", "espeak", "exec", "http"} }

// Open returns a Set. Nothing is started until a voice is used.
func Open(o Options) *Set {
	return &Set{o: o.withDefaults(), open: make(map[string]engine), prints: make(map[Voice]string)}
}

func (s *Set) engine(name string) (engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if e := s.open[name]; e != nil {
		return e, nil
	}
	var e engine
	var err error
	switch name {
	case "piper":
		e = openPiper(s.o)
	case "espeak":
		e, err = openEspeak(s.o)
	case "exec":
		e = openCommands(s.o)
	case "http":
		e = openRemote(s.o)
	default:
		err = fmt.Errorf("no engine %q; there are %v", name, engineNames())
	}
	if err != nil {
		return nil, err
	}
	s.open[name] = e
	return e, nil
}

// Fingerprint is the engine's for this voice and how long texts are spoken
// with it, asked for once.
func (s *Set) Fingerprint(ctx context.Context, v Voice) (string, error) {
	s.mu.Lock()
	print := s.prints[v]
	s.mu.Unlock()
	if print != "" {
		return print, nil
	}
	e, err := s.engine(v.Engine)
	if err != nil {
		return "", err
	}
	print, err = e.Fingerprint(ctx, v)
	if err != nil {
		return "", err
	}
	print = fmt.Sprintf("%s; parts %d of %d", print, frontVersion, s.o.PartChars)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prints[v] = print
	return print, nil
}

// Speak speaks with the engine of the utterance's voice, at the engine's own
// rate. The text should be what Clean returned. A long one is spoken in parts,
// with the pauses of a reader between them; one in another script than the
// voice's is refused.
func (s *Set) Speak(ctx context.Context, u Utterance) (audio.PCM, error) {
	e, err := s.engine(u.Voice.Engine)
	if err != nil {
		return audio.PCM{}, err
	}
	if !s.o.AnyScript {
		if err := checkScript(u.Text, e.lang(u.Voice)); err != nil {
			return audio.PCM{}, err
		}
	}
	return speakParts(ctx, e, u, Split(u.Text, s.o.PartChars))
}

// CheckScript is the refusal that Speak would make of a text whose script the
// voice's language does not use, or nil.
func (s *Set) CheckScript(text string, v Voice) error {
	e, err := s.engine(v.Engine)
	if err != nil || s.o.AnyScript {
		return err
	}
	return checkScript(text, e.lang(v))
}

// Voices lists the voices of all engines. An engine that is not installed is
// left out, and the log says why; it is an error if none is left.
func (s *Set) Voices(ctx context.Context) ([]VoiceInfo, error) {
	var all []VoiceInfo
	var failed error
	for _, name := range engineNames() {
		infos, err := s.voices(ctx, name)
		if err != nil {
			failed = errors.Join(failed, err)
			if s.o.Log != nil {
				s.o.Log(fmt.Sprintf("no %s voices: %v", name, err))
			}
		}
		all = append(all, infos...)
	}
	if len(all) == 0 {
		return nil, failed
	}
	return all, nil
}

func (s *Set) voices(ctx context.Context, engine string) ([]VoiceInfo, error) {
	e, err := s.engine(engine)
	if err != nil {
		return nil, err
	}
	return e.Voices(ctx)
}

// Close closes every engine that was opened. Speak fails afterwards.
func (s *Set) Close() error {
	s.mu.Lock()
	open, ear := s.open, s.ear
	s.open, s.ear, s.closed = nil, nil, true
	s.mu.Unlock()
	var err error
	if ear != nil {
		err = ear.worker.Close()
	}
	for _, e := range open {
		err = errors.Join(err, e.Close())
	}
	return err
}

// Estimate is a rough expectation, good enough for a plan.
type Estimate struct {
	SecondsPerChar            float64 `yaml:"seconds_per_char"`              // of sound, at speed 1
	AudioSecondsPerCoreSecond float64 `yaml:"audio_seconds_per_core_second"` // how much sound a busy core makes
}

// orElse fills in what is not given.
func (e Estimate) orElse(d Estimate) Estimate {
	if e.SecondsPerChar <= 0 {
		e.SecondsPerChar = d.SecondsPerChar
	}
	if e.AudioSecondsPerCoreSecond <= 0 {
		e.AudioSecondsPerCoreSecond = d.AudioSecondsPerCoreSecond
	}
	return e
}

// Estimate returns what to expect of a voice on an ordinary server core.
func (s *Set) Estimate(v Voice) Estimate {
	switch v.Engine {
	case "espeak":
		return Estimate{SecondsPerChar: 0.065, AudioSecondsPerCoreSecond: 230}
	case "exec":
		return s.o.Configured.Exec[v.Name].Estimate.orElse(Estimate{SecondsPerChar: 0.065, AudioSecondsPerCoreSecond: 50})
	case "http":
		return s.o.Configured.HTTP[v.Name].Estimate.orElse(Estimate{SecondsPerChar: 0.065, AudioSecondsPerCoreSecond: 20})
	}
	return Estimate{SecondsPerChar: 0.062, AudioSecondsPerCoreSecond: 10}
}
