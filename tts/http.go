package tts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/melforge/melforge/audio"
)

// remote speaks through servers that the user names.
type remote struct {
	o       Options
	client  *http.Client
	clock   clock
	servers map[string]*server // by voice
}

// clock is time, which a test replaces.
type clock struct {
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	jitter func() float64 // 0 to 1
}

// server is a voice's server and how busy it is.
type server struct {
	voice HTTPVoice
	seats chan struct{}

	mu   sync.Mutex
	next time.Time // when the next request may be sent
}

const (
	defaultTries  = 5
	firstWait     = 500 * time.Millisecond
	maxWait       = 30 * time.Second
	maxRetryAfter = 2 * time.Minute
)

func openRemote(o Options) *remote {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = o.Jobs
	r := &remote{
		o: o,
		client: &http.Client{
			Transport: transport,
			// The key is for the server that was named, and for no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		clock:   clock{now: time.Now, sleep: sleep, jitter: rand.Float64},
		servers: make(map[string]*server),
	}
	for name, v := range o.Configured.HTTP {
		if v.Limit == 0 {
			v.Limit = o.Timeout
		}
		if v.Tries == 0 {
			v.Tries = defaultTries
		}
		if v.Concurrency == 0 {
			v.Concurrency = o.Jobs
		}
		r.servers[name] = &server{voice: v, seats: make(chan struct{}, v.Concurrency)}
	}
	return r
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fingerprint implements Engine. What runs behind a URL cannot be seen from
// here; the version in the voices file stands for it.
func (r *remote) Fingerprint(ctx context.Context, v Voice) (string, error) {
	if err := r.check(ctx, v); err != nil {
		return "", err
	}
	c := r.servers[v.Name].voice
	return fmt.Sprintf("http 1 url %q model %q voice %q version %q", strings.TrimRight(c.URL, "/"), c.Model, c.Voice, c.Version), nil
}

// Speak implements Engine.
func (r *remote) Speak(ctx context.Context, u Utterance) (audio.PCM, error) {
	if err := r.check(ctx, u.Voice); err != nil {
		return audio.PCM{}, err
	}
	if !(u.Speed >= 0.25 && u.Speed <= 4) {
		return audio.PCM{}, refuse(ReasonBadSpeed, "the server speaks at speed 0.25 to 4, not %g", u.Speed)
	}
	if u.Pitch != 0 || math.IsNaN(u.Pitch) {
		return audio.PCM{}, refuse(ReasonPitchUnsupported, "the server's voices have one pitch; leave it at 0")
	}
	s := r.servers[u.Voice.Name]
	key, err := r.key(s.voice)
	if err != nil {
		return audio.PCM{}, fmt.Errorf("voice %s: %w", u.Voice, err)
	}
	pcm, err := r.persist(ctx, s, key, u)
	var t *trouble
	if !errors.As(err, &t) {
		return pcm, err
	}
	if t.suspect && u.Text != s.voice.probe() {
		// Is it the server or this text? Another text tells.
		if _, probeErr := r.persist(ctx, s, key, Utterance{Text: s.voice.probe(), Voice: u.Voice, Speed: 1}); probeErr == nil {
			return audio.PCM{}, refuse(t.reason, "%v, %d times, while the server speaks other texts", t.err, s.voice.Tries)
		}
	}
	return audio.PCM{}, fmt.Errorf("voice %s: gave up after %d tries: %w", u.Voice, s.voice.Tries, t.err)
}

// key reads the key anew each time, so that it can be changed during a run.
func (r *remote) key(v HTTPVoice) (string, error) {
	switch {
	case v.KeyEnv != "":
		key := strings.TrimSpace(r.o.Getenv(v.KeyEnv))
		if key == "" {
			return "", fmt.Errorf("no key: set the environment variable %s", v.KeyEnv)
		}
		return key, nil
	case v.KeyFile != "":
		b, err := os.ReadFile(v.KeyFile)
		if err != nil {
			return "", fmt.Errorf("no key: %w", err)
		}
		key := strings.TrimSpace(string(b))
		if key == "" {
			return "", fmt.Errorf("no key: %s is empty", v.KeyFile)
		}
		return key, nil
	}
	return "", nil
}

// persist tries until it works, or is hopeless, or has been tried enough.
func (r *remote) persist(ctx context.Context, s *server, key string, u Utterance) (audio.PCM, error) {
	wait := firstWait
	for try := 1; ; try++ {
		pcm, err := r.queue(ctx, s, key, u)
		var t *trouble
		if !errors.As(err, &t) || try >= s.voice.Tries {
			return pcm, err
		}
		// Half of it is chance, so that many clients do not come back at once.
		pause := wait/2 + time.Duration(float64(wait/2)*r.clock.jitter())
		pause = max(pause, min(t.after, maxRetryAfter))
		if err := r.clock.sleep(ctx, pause); err != nil {
			return audio.PCM{}, err
		}
		wait = min(2*wait, maxWait)
	}
}

// queue waits for its turn and sends one request.
func (r *remote) queue(ctx context.Context, s *server, key string, u Utterance) (audio.PCM, error) {
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	case <-ctx.Done():
		return audio.PCM{}, ctx.Err()
	}
	if err := r.clock.sleep(ctx, s.turn(r.clock.now())); err != nil {
		return audio.PCM{}, err
	}
	return r.request(ctx, s.voice, key, u)
}

// turn books the next moment at which a request may be sent and returns how
// long that is from now.
func (s *server) turn(now time.Time) time.Duration {
	if s.voice.PerSecond <= 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next.Before(now) {
		s.next = now
	}
	wait := s.next.Sub(now)
	s.next = s.next.Add(time.Duration(float64(time.Second) / s.voice.PerSecond))
	return wait
}

// Voices implements Engine.
func (r *remote) Voices(context.Context) ([]VoiceInfo, error) {
	var infos []VoiceInfo
	for _, name := range slices.Sorted(maps.Keys(r.servers)) {
		v := r.servers[name].voice
		infos = append(infos, v.info("http", name, v.Rate))
	}
	return infos, nil
}

func (r *remote) check(_ context.Context, v Voice) error { return configuredHas(r.servers, v) }

func (r *remote) lang(v Voice) string { return r.o.Configured.HTTP[v.Name].Lang }

// Close implements Engine.
func (r *remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}
