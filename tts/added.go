package tts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/melforge/melforge/tts/wire"
	"github.com/melforge/melforge/worker"
)

// AnySpeaker, as a voice's speaker, leaves it to a plan to draw one.
const AnySpeaker = "*"

// addedVoice describes a voice that was added to the cache.
func addedVoice(cache, name string) (VoiceInfo, error) {
	if !voiceName.MatchString(name) {
		return VoiceInfo{}, fmt.Errorf("%q is no voice's name", name)
	}
	path := filepath.Join(cache, wire.VoicesDir, name, wire.InfoFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return VoiceInfo{}, err
	}
	var i wire.Info
	if err := json.Unmarshal(b, &i); err != nil {
		return VoiceInfo{}, fmt.Errorf("%s: %w", path, err)
	}
	return VoiceInfo{
		Voice: Voice{Engine: "piper", Name: name}.String(), Lang: i.Lang, Rate: i.Rate, Speakers: i.Speakers,
		License: i.License, Attribution: i.Attribution, Note: i.Note,
	}, nil
}

func numberBelow(s string, limit int) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n < limit && strconv.Itoa(n) == s
}

// Speakers is how many a voice has: 1 for most, whose name then takes no colon.
func (s *Set) Speakers(ctx context.Context, v Voice) (int, error) {
	e, err := s.engine(v.Engine)
	if err != nil {
		return 0, err
	}
	v.Speaker = ""
	if err := e.check(ctx, v); err != nil {
		return 0, err
	}
	if p, ok := e.(*piper); ok {
		info, _ := p.find(v)
		return max(info.Speakers, 1), nil
	}
	return 1, nil
}

// isFile reports whether a voice's name is that of a file, as in
// "piper:/voices/amy.onnx" or "piper:amy.onnx:3".
func isFile(name string) bool { return strings.HasPrefix(name, "piper:") }

// addFile prepares the voice in a file and returns it. Its name no longer says
// where the file was, but it does say what was in it, so it means the same
// voice wherever that was added.
func (s *Set) addFile(ctx context.Context, name string) (Voice, error) {
	path := strings.TrimPrefix(name, "piper:")
	speaker := ""
	if at := strings.LastIndex(path, ".onnx:"); at >= 0 {
		path, speaker = path[:at+len(".onnx")], path[at+len(".onnx:"):]
	}
	if !strings.HasSuffix(path, ".onnx") {
		return Voice{}, &UnknownVoice{Name: name, Why: "want the .onnx file of a Piper voice, with its .onnx.json beside it"}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Voice{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Voice{}, &UnknownVoice{Name: name, Why: err.Error()}
	}
	if !info.Mode().IsRegular() {
		return Voice{}, &UnknownVoice{Name: name, Why: "it is no file"}
	}
	e, err := s.engine("piper")
	if err != nil {
		return Voice{}, err
	}
	reply, _, err := e.(*piper).call(ctx, wire.Request{Op: wire.OpAdd, File: path}, nil)
	var bad *worker.RemoteError
	if errors.As(err, &bad) {
		return Voice{}, &UnknownVoice{Name: name, Why: bad.Message}
	}
	if err != nil {
		return Voice{}, fmt.Errorf("voice %q: %w", name, err)
	}
	v := Voice{Engine: "piper", Name: reply.Name, Speaker: speaker}
	return v, e.check(ctx, v)
}
