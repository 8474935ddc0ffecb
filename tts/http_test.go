package tts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/melforge/melforge/audio"
)

const secret = "sk-very-secret"

func goodWav() []byte {
	return audio.AppendWAV(nil, audio.PCM{Rate: 24000, Samples: slices.Repeat([]int16{5000, -5000}, 1200)})
}

// misbehaving answers the probe well and other texts as told, by how many
// requests for that text came before.
type misbehaving struct {
	mu    sync.Mutex
	seen  map[string]int
	rules map[string]func(w http.ResponseWriter, r *http.Request, before int)
	last  map[string]any
	key   string
}

func (m *misbehaving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != "POST" || r.URL.Path != "/v1/audio/speech" {
		http.Error(w, "what?", http.StatusTeapot)
		return
	}
	text, _ := body["input"].(string)
	m.mu.Lock()
	before := m.seen[text]
	m.seen[text]++
	m.last, m.key = body, r.Header.Get("Authorization")
	rule := m.rules[text]
	m.mu.Unlock()
	if rule == nil {
		w.Header().Set("Content-Type", "audio/wav")
		_, _ = w.Write(goodWav())
		return
	}
	rule(w, r, before)
}

// requests is how many came for a text. The server may still be busy with one
// that it broke off.
func (m *misbehaving) requests(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[text]
}

// heard is the last request's body and key.
func (m *misbehaving) heard() (map[string]any, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.key
}

// serve starts a server and returns an engine for it whose clock stands still
// and remembers how long it was asked to sleep.
func serve(t *testing.T, rules map[string]func(http.ResponseWriter, *http.Request, int), change func(*HTTPVoice)) (*misbehaving, *remote, *[]time.Duration) {
	t.Helper()
	m := &misbehaving{seen: make(map[string]int), rules: rules}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	v := HTTPVoice{URL: srv.URL + "/", Model: "tts-1", Voice: "nova", KeyEnv: "KEY", Tries: 4, Limit: time.Minute}
	if change != nil {
		change(&v)
	}
	r := openRemote(Options{
		Configured: Configured{HTTP: map[string]HTTPVoice{"nova": v}},
		Getenv:     func(name string) string { return map[string]string{"KEY": secret}[name] },
	}.withDefaults())
	t.Cleanup(func() { r.Close() })
	var mu sync.Mutex
	slept := new([]time.Duration)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.clock = clock{
		now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		sleep: func(ctx context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			if d > 0 {
				*slept = append(*slept, d)
				now = now.Add(d)
			}
			return ctx.Err()
		},
		jitter: func() float64 { return 0.5 },
	}
	return m, r, slept
}

func httpSays(text string) Utterance {
	return Utterance{Text: text, Voice: Voice{Engine: "http", Name: "nova"}, Speed: 1}
}

func status(code int, body string, header ...string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body, " you sent ", r.Header.Get("Authorization"))
	}
}

// first misbehaves n times and is good then.
func first(n int, bad func(http.ResponseWriter, *http.Request, int)) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, before int) {
		if before < n {
			bad(w, r, before)
			return
		}
		w.Header().Set("Content-Type", "audio/wav")
		_, _ = w.Write(goodWav())
	}
}

func reset(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) }

func truncated(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Type", "audio/wav")
	_, _ = w.Write(goodWav()[:1000])
}

func cutOff(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Length", "100000")
	_, _ = w.Write(goodWav()[:1000])
}

func htmlPage(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<html>Bad gateway</html>")
}

func TestHTTPSpeaks(t *testing.T) {
	m, r, _ := serve(t, nil, nil)
	u := httpSays("Hello “there”.")
	u.Speed = 1.5
	p, err := r.Speak(t.Context(), u)
	if err != nil || p.Rate != 24000 || len(p.Samples) != 2400 {
		t.Fatalf("%d samples at %d Hz, %v", len(p.Samples), p.Rate, err)
	}
	want := map[string]any{"model": "tts-1", "input": u.Text, "voice": "nova", "response_format": "wav", "speed": 1.5}
	if body, key := m.heard(); fmt.Sprint(body) != fmt.Sprint(want) || key != "Bearer "+secret {
		t.Errorf("sent %v with %q", body, key)
	}
	print, err := r.Fingerprint(t.Context(), u.Voice)
	if err != nil || strings.Contains(print, secret) || !strings.Contains(print, `model "tts-1" voice "nova"`) {
		t.Errorf("fingerprint %q, %v", print, err)
	}
}

func TestHTTPRetries(t *testing.T) {
	ms := func(n ...int) (d []time.Duration) {
		for _, x := range n {
			d = append(d, time.Duration(x)*time.Millisecond)
		}
		return d
	}
	for name, c := range map[string]struct {
		rule func(http.ResponseWriter, *http.Request, int)
		want []time.Duration
	}{
		"429":         {first(2, status(429, "slow down")), ms(375, 750)},
		"after":       {first(1, status(429, "slow down", "Retry-After", "7")), ms(7000)},
		"after date":  {first(1, status(503, "busy", "Retry-After", "Fri, 02 Jan 2026 03:04:15 GMT")), ms(10000)},
		"after never": {first(1, status(503, "busy", "Retry-After", "999999999")), ms(int(maxRetryAfter.Milliseconds()))},
		"after past":  {first(1, status(503, "busy", "Retry-After", "Fri, 02 Jan 2020 03:04:15 GMT")), ms(375)},
		"500":         {first(3, status(500, "oops")), ms(375, 750, 1500)},
		"408":         {first(1, status(408, "slow")), ms(375)},
		"reset":       {first(1, reset), ms(375)},
		"truncated":   {first(1, truncated), ms(375)},
		"cut off":     {first(1, cutOff), ms(375)},
		"html":        {first(1, htmlPage), ms(375)},
	} {
		m, r, slept := serve(t, map[string]func(http.ResponseWriter, *http.Request, int){"x": c.rule}, nil)
		if p, err := r.Speak(t.Context(), httpSays("x")); err != nil || len(p.Samples) != 2400 {
			t.Errorf("%s: %d samples, %v", name, len(p.Samples), err)
		}
		if !slices.Equal(*slept, c.want) || m.requests("x") != len(c.want)+1 {
			t.Errorf("%s: slept %v over %d requests, want %v", name, *slept, m.requests("x"), c.want)
		}
	}
}

func TestHTTPGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		rule   func(http.ResponseWriter, *http.Request, int)
		reason string // "": a plain error
		says   string
		tries  int
	}{
		"500 for this text":  {status(500, "oops"), ReasonEngineFailed, "speaks other texts", 4},
		"html for this text": {htmlPage, ReasonBadAudio, "text/html", 4},
		"truncated":          {truncated, ReasonBadAudio, "truncated", 4},
		"busy for good":      {status(503, "busy"), "", "gave up after 4 tries", 4},
		"429 for good":       {status(429, "quota"), "", "requests_per_second", 4},
		"reset for good":     {reset, "", "gave up after 4", 4},
		"400":                {status(400, "bad input"), ReasonEngineFailed, "bad input", 1},
		"413":                {status(413, "too long"), ReasonEngineFailed, "too long", 1},
		"422":                {status(422, "bad input"), ReasonEngineFailed, "422", 1},
		"401":                {status(401, "who are you"), "", "key_env", 1},
		"403":                {status(403, "no"), "", "key_env", 1},
		"404":                {status(404, "no"), "", "check url, model and voice", 1},
		"405":                {status(405, "no"), "", "405", 1},
		"redirect":           {status(302, "", "Location", "http://elsewhere.invalid/"), "", "redirects are not followed", 1},
		"mp3":                {status(200, "ID3", "Content-Type", "audio/mpeg"), "", "response_format", 1},
	} {
		m, r, _ := serve(t, map[string]func(http.ResponseWriter, *http.Request, int){"x": c.rule}, nil)
		_, err := r.Speak(t.Context(), httpSays("x"))
		if err == nil || reason(err) != c.reason || !strings.Contains(err.Error(), c.says) || m.requests("x") != c.tries {
			t.Errorf("%s: %v after %d tries; want reason %q, %q, %d", name, err, m.requests("x"), c.reason, c.says, c.tries)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the key is in %v", name, err)
		}
	}
	// With the server down the text is innocent.
	_, r, _ := serve(t, map[string]func(http.ResponseWriter, *http.Request, int){"x": status(500, "oops"), "1, 2, 3.": status(500, "oops")}, nil)
	if _, err := r.Speak(t.Context(), httpSays("x")); err == nil || reason(err) != "" {
		t.Errorf("all fail: %v, want a plain error", err)
	}
}

func TestHTTPHangs(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() }
	rules := map[string]func(http.ResponseWriter, *http.Request, int){"x": hang}
	_, r, _ := serve(t, rules, func(v *HTTPVoice) { v.Limit, v.Tries = 200*time.Millisecond, 2 })
	if _, err := r.Speak(t.Context(), httpSays("x")); reason(err) != ReasonEngineTimeout {
		t.Errorf("%v, want %s", err, ReasonEngineTimeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rules["y"] = func(w http.ResponseWriter, r *http.Request, n int) { cancel(); hang(w, r, n) }
	_, r, _ = serve(t, rules, nil)
	if _, err := r.Speak(ctx, httpSays("y")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestHTTPLimits(t *testing.T) {
	var now, most atomic.Int64
	rule := func(w http.ResponseWriter, _ *http.Request, _ int) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		_, _ = w.Write(goodWav())
		now.Add(-1)
	}
	m, r, slept := serve(t, map[string]func(http.ResponseWriter, *http.Request, int){"x": rule}, func(v *HTTPVoice) {
		v.Concurrency, v.PerSecond = 2, 4
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := r.Speak(t.Context(), httpSays("x")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m.requests("x") != 20 || most.Load() > 2 {
		t.Errorf("%d requests, %d at a time", m.requests("x"), most.Load())
	}
	var total time.Duration
	for _, d := range *slept {
		total += d
	}
	// 20 requests at 4 a second: the last one 19 quarters after the first.
	if total < 4500*time.Millisecond {
		t.Errorf("slept %v in all, want about 4.75 s", total)
	}
}

func TestHTTPKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for name, c := range map[string]struct {
		change func(*HTTPVoice)
		write  string
		want   string // Authorization, or in the error
		ok     bool
	}{
		"none":       {func(v *HTTPVoice) { v.KeyEnv = "" }, "", "", true},
		"file":       {func(v *HTTPVoice) { v.KeyEnv, v.KeyFile = "", file }, " from-file\n", "Bearer from-file", true},
		"empty file": {func(v *HTTPVoice) { v.KeyEnv, v.KeyFile = "", file }, "\n", "is empty", false},
		"no file":    {func(v *HTTPVoice) { v.KeyEnv, v.KeyFile = "", file+"x" }, "", "no key", false},
		"unset":      {func(v *HTTPVoice) { v.KeyEnv = "OTHER" }, "", "set the environment variable OTHER", false},
	} {
		if err := os.WriteFile(file, []byte(c.write), 0o600); err != nil {
			t.Fatal(err)
		}
		m, r, _ := serve(t, nil, c.change)
		_, err := r.Speak(t.Context(), httpSays("x"))
		_, key := m.heard()
		if c.ok && (err != nil || key != c.want) || !c.ok && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, sent %q", name, err, key)
		}
	}
	_, r, _ := serve(t, nil, nil)
	high, fast, nobody := httpSays("x"), httpSays("x"), httpSays("x")
	high.Pitch, fast.Speed, nobody.Voice.Name = 1, 9, "nobody"
	for _, c := range []struct {
		u    Utterance
		want string
	}{{high, ReasonPitchUnsupported}, {fast, ReasonBadSpeed}, {nobody, ""}} {
		if _, err := r.Speak(t.Context(), c.u); err == nil || reason(err) != c.want {
			t.Errorf("%+v: %v, want %q", c.u, err, c.want)
		}
	}
}
