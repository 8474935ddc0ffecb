package tts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/melforge/melforge/audio"
)

// trouble is a failure that may pass.
type trouble struct {
	err     error
	reason  string        // for the text, should it be guilty
	suspect bool          // the text may be guilty
	after   time.Duration // the server asked to be left alone for so long
}

// Error implements error.
func (t *trouble) Error() string { return t.err.Error() }

// request asks the server once. What may pass is *trouble, what concerns the
// text a *Refusal, anything else is final.
func (r *remote) request(ctx context.Context, v HTTPVoice, key string, u Utterance) (audio.PCM, error) {
	body, err := json.Marshal(map[string]any{
		"model": v.Model, "input": u.Text, "voice": v.Voice, "response_format": "wav", "speed": u.Speed,
	})
	if err != nil {
		return audio.PCM{}, err
	}
	timed, stop := context.WithTimeout(ctx, v.Limit)
	defer stop()
	url := strings.TrimRight(v.URL, "/") + "/v1/audio/speech"
	req, err := http.NewRequestWithContext(timed, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return audio.PCM{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "audio/wav")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := r.client.Do(req)
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(resp.Body, maxWav+1))
		resp.Body.Close() // it was read; there is nothing left to fail
	}
	switch {
	case ctx.Err() != nil:
		return audio.PCM{}, ctx.Err()
	case timed.Err() != nil:
		return audio.PCM{}, &trouble{err: fmt.Errorf("%s took longer than %v", url, v.Limit), reason: ReasonEngineTimeout, suspect: true}
	case err != nil:
		return audio.PCM{}, &trouble{err: fmt.Errorf("ask %s: %w", url, err), reason: ReasonEngineFailed, suspect: resp != nil}
	}
	return r.judge(resp, b, url, key, u)
}

// judge makes sound of an answer, or says what is wrong with it.
func (r *remote) judge(resp *http.Response, b []byte, url, key string, u Utterance) (audio.PCM, error) {
	said := excerpt(b, key)
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return sound(resp, b, said)
	case code == http.StatusTooManyRequests:
		return audio.PCM{}, &trouble{err: fmt.Errorf("%s: %s: %s; lower requests_per_second or concurrency", url, resp.Status, said), after: r.retryAfter(resp)}
	case code == http.StatusRequestTimeout || code >= 500:
		return audio.PCM{}, &trouble{
			err: fmt.Errorf("%s: %s: %s", url, resp.Status, said), reason: ReasonEngineFailed,
			suspect: code == http.StatusInternalServerError, after: r.retryAfter(resp),
		}
	case code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge || code == http.StatusUnprocessableEntity:
		return audio.PCM{}, refuse(ReasonEngineFailed, "the server refused %.40q: %s: %s", u.Text, resp.Status, said)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return audio.PCM{}, fmt.Errorf("%s: %s: %s; check key_env or key_file of voice %s", url, resp.Status, said, u.Voice)
	case code == http.StatusNotFound:
		return audio.PCM{}, fmt.Errorf("%s: %s: %s; check url, model and voice of voice %s", url, resp.Status, said, u.Voice)
	case code >= 300 && code < 400:
		return audio.PCM{}, fmt.Errorf("%s: %s to %q: redirects are not followed; correct the url of voice %s", url, resp.Status, resp.Header.Get("Location"), u.Voice)
	default:
		return audio.PCM{}, fmt.Errorf("%s: %s: %s", url, resp.Status, said)
	}
}

// sound decodes an answer that claims to be a wav.
func sound(resp *http.Response, b []byte, said string) (audio.PCM, error) {
	if len(b) > maxWav {
		return audio.PCM{}, refuse(ReasonAudioTooLong, "the server sent more than %d bytes", maxWav)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	text := strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")
	if text {
		return audio.PCM{}, badBody(fmt.Errorf("the server sent %s in place of sound: %s", kind, said))
	}
	pcm, err := audio.DecodeWAV(b)
	switch {
	case err != nil && kind != "" && kind != "application/octet-stream" && !strings.Contains(kind, "wav"):
		return audio.PCM{}, fmt.Errorf("the server sent %s in place of a wav: it must honour response_format", kind)
	case err != nil:
		return audio.PCM{}, badBody(fmt.Errorf("the server's wav: %w", err))
	case len(pcm.Samples) == 0:
		return audio.PCM{}, badBody(errors.New("the server's wav is empty"))
	}
	return pcm, nil
}

func badBody(err error) *trouble { return &trouble{err: err, reason: ReasonBadAudio, suspect: true} }

// retryAfter reads the header of that name: seconds or a date.
func (r *remote) retryAfter(resp *http.Response) time.Duration {
	h := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(h); err == nil && n > 0 {
		return time.Duration(min(n, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(h); err == nil {
		return at.Sub(r.clock.now())
	}
	return 0
}

// excerpt is the beginning of what a server said, for people. A server that
// repeats the key does not get it into a log.
func excerpt(b []byte, key string) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), 4096)]), "")
	if key != "" {
		s = strings.ReplaceAll(s, key, "(key)")
	}
	return fmt.Sprintf("%.200q", strings.Join(strings.Fields(s), " "))
}
