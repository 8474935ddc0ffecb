package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/melforge/melforge/internal/nearest"
)

// loadConfig sets every flag that the configuration file names and the command
// line does not.
func (a *app) loadConfig(cmd *cobra.Command) error {
	if a.config == "" {
		return nil
	}
	b, err := os.ReadFile(a.config)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	values, err := parseConfig(b)
	if err != nil {
		return fmt.Errorf("%s: %w", a.config, err)
	}
	for _, v := range values {
		f := cmd.Flags().Lookup(v.name)
		if f == nil || v.name == "config" {
			return fmt.Errorf("%s, line %d: %s has no flag %q%s", a.config, v.line, cmd.CommandPath(), v.name, didYouMean(cmd, v.name))
		}
		if f.Changed {
			continue
		}
		if err := cmd.Flags().Set(v.name, v.value); err != nil {
			return fmt.Errorf("%s, line %d: %w", a.config, v.line, err)
		}
	}
	return nil
}

// setting is one line of a configuration file.
type setting struct {
	name, value string
	line        int
}

// parseConfig reads a flat YAML mapping of flag names to scalars or lists.
func parseConfig(b []byte) ([]setting, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	m := doc.Content[0]
	if m.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: want flag names with their values, as in \"voice: piper/jenny\"", m.Line)
	}
	var out []setting
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		s := setting{name: k.Value, line: k.Line}
		switch v.Kind {
		case yaml.ScalarNode:
			s.value = v.Value
		case yaml.SequenceNode:
			var parts []string
			for _, x := range v.Content {
				if x.Kind != yaml.ScalarNode {
					return nil, fmt.Errorf("line %d: %s: want plain values in the list", x.Line, k.Value)
				}
				parts = append(parts, x.Value)
			}
			s.value = strings.Join(parts, ",")
		default:
			return nil, fmt.Errorf("line %d: %s: want a value or a list of values", v.Line, k.Value)
		}
		out = append(out, s)
	}
	return out, nil
}

// didYouMean suggests the flag that was probably meant.
func didYouMean(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if best := nearest.Of(name, 2, names); best != "" {
		return fmt.Sprintf(" (did you mean %s?)", best)
	}
	return ""
}

// resolved lists the flags of a command with their final values, Beam's own
// only where they were set.
func resolved(cmd *cobra.Command) []setting {
	var out []setting
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && (!f.Hidden || f.Changed) {
			out = append(out, setting{name: f.Name, value: f.Value.String()})
		}
	})
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	return out
}
