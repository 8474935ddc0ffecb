package tts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"
)

// Configured are voices that a user describes in a file: commands and servers.
type Configured struct {
	Exec map[string]ExecVoice `yaml:"exec"`
	HTTP map[string]HTTPVoice `yaml:"http"`
}

// About is what is known of a configured voice besides how to run it.
type About struct {
	Lang        string   `yaml:"lang"` // "": any, and scripts are not checked
	Gender      string   `yaml:"gender"`
	License     string   `yaml:"license"`
	Attribution string   `yaml:"attribution"`
	Note        string   `yaml:"note"`
	Estimate    Estimate `yaml:"estimate"`
	// Version is part of the fingerprint: raise it when the voice changes in
	// a way that cannot be seen from here.
	Version string `yaml:"version"`
	// Probe is a short text that the voice can surely speak, to tell a text
	// that it cannot from a voice that does not work. "": "1, 2, 3."
	Probe string `yaml:"probe"`
}

// ExecVoice is a command that speaks. The text goes to its standard input, or
// into a file where the command has {text_file}; the wav comes from its
// standard output, or from a file where it has {wav_file}.
type ExecVoice struct {
	About `yaml:",inline"`
	// Command is the program and its arguments; no shell is involved. These
	// are filled in: {text_file} {wav_file} {voice} {speed} {stretch} (1/speed)
	// {percent} (100·speed) {pitch} (semitones) and {dir} (the voices file's).
	Command []string `yaml:"command"`
	// VersionCommand is run once; what it prints is part of the fingerprint.
	VersionCommand []string `yaml:"version_command"`
	// Files are part of the fingerprint, as the program's own file is.
	Files []string      `yaml:"files"`
	Voice string        `yaml:"voice"` // for {voice}; "": the name
	Rate  int           `yaml:"rate"`  // only told to people; the wav decides
	Limit time.Duration `yaml:"timeout"`

	dir string // of the voices file
}

// HTTPVoice is a server that speaks OpenAI's POST /v1/audio/speech.
type HTTPVoice struct {
	About `yaml:",inline"`
	URL   string `yaml:"url"` // what comes before /v1/audio/speech
	Model string `yaml:"model"`
	Voice string `yaml:"voice"`
	// KeyEnv names an environment variable and KeyFile a file that holds the
	// key. The key itself never stands in the voices file.
	KeyEnv      string        `yaml:"key_env"`
	KeyFile     string        `yaml:"key_file"`
	Rate        int           `yaml:"rate"`                // only told to people; the wav decides
	Concurrency int           `yaml:"concurrency"`         // requests at a time; 0: as many as jobs
	PerSecond   float64       `yaml:"requests_per_second"` // 0: no limit
	Limit       time.Duration `yaml:"timeout"`             // of one try; 0: as for every engine
	Tries       int           `yaml:"tries"`               // 0: 5
}

// maxVoicesFile is more than anybody writes by hand.
const maxVoicesFile = 1 << 20

// ReadVoices reads a voices file (YAML). Paths in it are relative to its own
// folder. A word that it does not know is an error.
func ReadVoices(path string) (Configured, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Configured{}, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Configured{}, err
	}
	c, err := parseVoices(b, dir)
	if err != nil {
		return Configured{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseVoices(b []byte, dir string) (Configured, error) {
	var c Configured
	if len(b) > maxVoicesFile {
		return c, fmt.Errorf("%d bytes, the limit is %d", len(b), maxVoicesFile)
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	for name, v := range c.Exec {
		if err := checkExec(name, v); err != nil {
			return c, fmt.Errorf("exec voice %q: %w", name, err)
		}
		v.dir = dir
		c.Exec[name] = v
	}
	for name, v := range c.HTTP {
		if err := checkHTTP(name, v); err != nil {
			return c, fmt.Errorf("http voice %q: %w", name, err)
		}
		if v.KeyFile != "" && !filepath.IsAbs(v.KeyFile) {
			v.KeyFile = filepath.Join(dir, v.KeyFile)
			c.HTTP[name] = v
		}
	}
	return c, nil
}

var errBadName = errors.New("a name has letters, digits and _.+- only and begins with a letter or digit")

func checkExec(name string, v ExecVoice) error {
	switch {
	case !voiceName.MatchString(name):
		return errBadName
	case len(v.Command) == 0 || v.Command[0] == "":
		return errors.New("no command; give a list, as in command: [flite, -voice, slt, -f, \"{text_file}\", -o, \"{wav_file}\"]")
	case v.Limit < 0:
		return errors.New("timeout is below 0")
	}
	for _, arg := range v.Command {
		for _, name := range placeholder.FindAllString(arg, -1) {
			if _, ok := (ExecVoice{}).values(Utterance{Speed: 1})[name]; !ok {
				return fmt.Errorf("unknown placeholder %s in %q", name, arg)
			}
		}
	}
	return nil
}

func checkHTTP(name string, v HTTPVoice) error {
	u, err := url.Parse(v.URL)
	switch {
	case !voiceName.MatchString(name):
		return errBadName
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("url: want http://… or https://…, without /v1/audio/speech")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("url: no user, password or query there; keys come from key_env or key_file")
	case v.Model == "" || v.Voice == "":
		return errors.New("model and voice are needed")
	case v.KeyEnv != "" && v.KeyFile != "":
		return errors.New("key_env and key_file: give one")
	case v.Limit < 0 || v.PerSecond < 0 || v.Concurrency < 0 || v.Tries < 0:
		return errors.New("timeout, requests_per_second, concurrency and tries cannot be below 0")
	}
	return nil
}

func (a About) probe() string {
	if a.Probe != "" {
		return a.Probe
	}
	return "1, 2, 3."
}

func (a About) info(engine, name string, rate int) VoiceInfo {
	license := a.License
	if license == "" {
		license = "not stated in the voices file"
	}
	return VoiceInfo{
		Voice: Voice{Engine: engine, Name: name}.String(), Lang: a.Lang, Gender: a.Gender, Rate: rate,
		License: license, Attribution: a.Attribution, Note: a.Note,
	}
}
