package tts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Fingerprint implements Engine. It has the voice speak its probe, twice: a
// command that does not work at all must not be blamed on the first text, and
// one that never says the same thing twice deserves a warning.
func (c *commands) Fingerprint(ctx context.Context, voice Voice) (string, error) {
	if err := c.check(ctx, voice); err != nil {
		return "", err
	}
	c.mu.Lock()
	known := c.prints[voice.Name]
	if known == nil {
		known = &once{lock: make(chan struct{}, 1)}
		c.prints[voice.Name] = known
	}
	c.mu.Unlock()
	select {
	case known.lock <- struct{}{}:
		defer func() { <-known.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if known.print != "" {
		return known.print, nil
	}
	print, err := c.learn(ctx, voice)
	if err != nil {
		return "", fmt.Errorf("voice %s: %w", voice, err)
	}
	known.print = print
	return print, nil
}

func (c *commands) learn(ctx context.Context, voice Voice) (string, error) {
	v := c.voices[voice.Name]
	u := Utterance{Text: v.probe(), Voice: voice, Speed: 1}
	first, err := c.say(ctx, u, v)
	if err != nil {
		return "", fmt.Errorf("it cannot speak %q: %w", u.Text, err)
	}
	second, err := c.say(ctx, u, v)
	if err != nil {
		return "", fmt.Errorf("it cannot speak %q twice: %w", u.Text, err)
	}
	if (first.Rate != second.Rate || !slices.Equal(first.Samples, second.Samples)) && c.o.Log != nil {
		c.o.Log(fmt.Sprintf("voice %s says the same text differently each time: a dataset made with it cannot be made again", voice))
	}
	sum := sha256.New()
	facts := struct {
		Command []string
		Voice   string
		Version string
	}{v.Command, v.Voice, v.Version}
	if err := json.NewEncoder(sum).Encode(facts); err != nil {
		return "", err
	}
	if err := v.hashFiles(sum, c.o); err != nil {
		return "", err
	}
	if len(v.VersionCommand) > 0 {
		run, err := v.program(v.VersionCommand, c.o)
		if err != nil {
			return "", err
		}
		run.anyExit = true // flite 2.2 tells its version and exits with 1
		said, err := run.run(ctx)
		if err != nil {
			return "", fmt.Errorf("version_command: %w", err)
		}
		fmt.Fprintf(sum, "version %d\x00%s", len(said), said)
	}
	return fmt.Sprintf("exec 1 %s %s", filepath.Base(v.Command[0]), hex.EncodeToString(sum.Sum(nil))), nil
}

// hashFiles adds the program and the files that belong to it.
func (v ExecVoice) hashFiles(w io.Writer, o Options) error {
	run, err := v.program(v.Command, o)
	if err != nil {
		return err
	}
	for _, path := range append([]string{run.path}, v.Files...) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(v.dir, path)
		}
		if err := hashInto(w, path); err != nil {
			return err
		}
	}
	return nil
}

func hashInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return errors.Join(err, f.Close())
	}
	_, err = fmt.Fprintf(w, "%x\n", sum.Sum(nil))
	return errors.Join(err, f.Close())
}
