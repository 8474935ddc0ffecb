package pack

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/melforge/melforge/tts/wire"
)

// addedName keeps a name within its folder.
var addedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]*$`)

// Added returns a voice that was added to the cache.
func Added(cache, name string) (Voice, error) {
	if !addedName.MatchString(name) {
		return Voice{}, fmt.Errorf("no voice %q", name)
	}
	v, err := openVoice(filepath.Join(cache, wire.VoicesDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return Voice{}, fmt.Errorf("no voice %q here: `melforge voices add` it on this machine: %w", name, err)
	}
	return v, err
}

// AddFile prepares the Piper voice in an .onnx file and returns the name under
// which it can be spoken with: that of the file and the beginning of a hash.
// The same files have the same name on every machine.
func AddFile(cache, path string) (string, error) {
	model, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	described, configPath, err := readConfig(path)
	if err != nil {
		return "", err
	}
	c, err := parseConfig(described)
	if err != nil {
		return "", fmt.Errorf("%s: %w", configPath, err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %d %d\n", layout, len(model), len(described))
	sum.Write(model)
	sum.Write(described)
	name := fmt.Sprintf("%s-%x", stem(path), sum.Sum(nil)[:4])
	info := wire.Info{
		Lang: c.Espeak.Voice, Rate: c.Audio.SampleRate, Speakers: c.NumSpeakers,
		License: "not known: see where " + filepath.Base(path) + " came from", Note: "a Piper voice from a file",
	}
	return name, addVoice(cache, name, info, func() (map[string][]byte, error) { return c.files(model) })
}

// readConfig reads the description of a voice: voice.onnx.json, or voice.json.
func readConfig(path string) (b []byte, config string, err error) {
	config = path + ".json"
	b, err = os.ReadFile(config)
	if errors.Is(err, fs.ErrNotExist) {
		other := strings.TrimSuffix(path, ".onnx") + ".json"
		if b, otherErr := os.ReadFile(other); otherErr == nil {
			return b, other, nil
		}
		return nil, "", fmt.Errorf("%s needs its description beside it: %w", path, err)
	}
	return b, config, err
}

// stem is a file's name as a voice's.
func stem(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".onnx")
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && addedName.MatchString("x"+string(r)) && r != '+' {
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name, "-._+")
	if name == "" {
		return "voice"
	}
	return name[:min(len(name), 60)]
}

// addVoice places a voice with its description.
func addVoice(cache, name string, info wire.Info, fill func() (map[string][]byte, error)) error {
	dir := filepath.Join(cache, wire.VoicesDir, name)
	return ensure(cache, name, dir, append([]string{wire.InfoFile}, voiceFiles...), func() (map[string][]byte, error) {
		files, err := fill()
		if err != nil {
			return nil, err
		}
		files[wire.InfoFile], err = json.MarshalIndent(info, "", "  ")
		return files, err
	})
}
