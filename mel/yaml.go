package mel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// ParseYAML reads a configuration of the user's own. Its keys are those of
// Config's JSON, and preset, which names the configuration to start from:
//
//	name: my-whisper
//	preset: whisper-80
//	n_mels: 64
//
// It needs a name that no preset has. Keys that mean nothing are refused.
func ParseYAML(text []byte) (Config, error) {
	var keys map[string]any
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return Config{}, fmt.Errorf("mel configuration: %w", err)
	}
	var c Config
	if base, ok := keys["preset"]; ok {
		name, _ := base.(string)
		var err error
		if c, err = Preset(name); err != nil {
			return Config{}, fmt.Errorf("mel configuration: %w", err)
		}
		c.Name = ""
		delete(keys, "preset")
	}
	raw, err := json.Marshal(keys)
	if err != nil {
		return Config{}, fmt.Errorf("mel configuration: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("mel configuration: %w", err)
	}
	if c.Name == "" {
		return Config{}, errors.New("mel configuration: it has no name; add name: and one of your choice")
	}
	if slices.Contains(Presets(), c.Name) {
		return Config{}, fmt.Errorf("mel configuration: %q is the name of a preset; choose another", c.Name)
	}
	return c, c.Validate()
}
