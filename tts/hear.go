package tts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/melforge/melforge/audio"
	"github.com/melforge/melforge/internal/score"
	"github.com/melforge/melforge/tts/wire"
	"github.com/melforge/melforge/worker"
)

// earRate is the rate at which the recogniser hears.
const earRate = 16000

// Hear writes down what is said in a sound, in English, with the recogniser
// that Add(ctx, "moonshine", …) fetches. It runs in a worker of its own. A
// sound that kills it is a *Refusal.
func (s *Set) Hear(ctx context.Context, p audio.PCM) (string, error) {
	n, err := s.listener()
	if err != nil {
		return "", err
	}
	if p.Rate != earRate {
		p = audio.Resample(p, earRate)
	}
	reply, _, err := n.call(ctx, wire.Request{Op: wire.OpHear, Rate: earRate}, p.Samples)
	var died *worker.Died
	switch {
	case errors.As(err, &died) && died.Timeout > 0:
		return "", refuse(ReasonEngineTimeout, "%v", died)
	case errors.As(err, &died):
		return "", refuse(ReasonEngineDied, "%v", died)
	case err != nil:
		return "", fmt.Errorf("hear: %w", err)
	}
	return reply.Text, nil
}

// listener is the worker that hears, opened when first needed.
func (s *Set) listener() (*native, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.ear == nil {
		n := openNative(s.o)
		s.ear = &n
	}
	return s.ear, nil
}

// WER is the word error rate of what was heard against what was said: words to
// insert, delete or change, for each word of ref. Case, punctuation and
// accents' encoding do not count. Nothing said and nothing heard is 0, and
// something heard where nothing was said is 1.
func WER(ref, hyp string) float64 {
	r, h := words(ref), words(hyp)
	if len(r) == 0 {
		return float64(min(len(h), 1))
	}
	return float64(score.Distance(r, h)) / float64(len(r))
}

// words are what WER compares: small letters, digits and apostrophes.
func words(text string) []string {
	text = strings.ReplaceAll(norm.NFC.String(text), "’", "'")
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '\''
	})
	var kept []string
	for _, w := range fields {
		if w = strings.Trim(w, "'"); w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}
