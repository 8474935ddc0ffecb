package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/datasets"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect DIR", Short: "Say what is in a dataset", Args: terminal.OneArg("dataset's folder"),
		Long: "Prints a dataset's counts, hours, durations, voices, shards and configuration.",
		Example: `  melforge inspect dataset
  melforge inspect dataset --json`,
		RunE: func(_ *cobra.Command, args []string) error { return a.inspect(args[0]) },
	}
}

func (a *app) inspect(dir string) error {
	in, err := datasets.At(dir).Inspect()
	if err != nil {
		return err
	}
	a.ui.Message("inspect", in, inspectText(dir, in))
	return nil
}

func inspectText(dir string, in *datasets.Inspection) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	t := in.Totals
	fmt.Fprintf(&b, "%s\n", dir)
	row("entries", "%s (%s distinct clips), %s rejects", count(t.Entries), count(t.Clips), count(t.Rejects))
	row("audio", "%s; clips of %.2f to %.2f s, median %.2f s", hours(t.Seconds), in.Durations.Min, in.Durations.Max, in.Durations.Median)
	for _, v := range slices.Sorted(maps.Keys(in.Voices)) {
		row("voice", "%s: %s entries, %s", v, count(in.Voices[v].Entries), hours(in.Voices[v].Seconds))
	}
	for _, r := range slices.Sorted(maps.Keys(in.Reasons)) {
		row("rejects", "%s: %s", r, count(in.Reasons[r]))
	}
	if in.Mel == nil {
		row("mels", "none yet: melforge mel %s", dir)
	} else {
		row("mels", "%s, %d Hz, %d mels, hop %d, %s; %s frames", in.Mel.Name, in.Mel.Rate, in.Mel.NMels, in.Mel.Hop, in.Layout, count(t.Frames))
	}
	row("bytes", "%s wav, %s shards", size(in.WavBytes), size(in.ShardBytes))
	for i, s := range in.Shards {
		if i == 10 {
			row("", "… and %d more", len(in.Shards)-i)
			break
		}
		row("shard", "%s: %s clips, %s frames, %s, %s", s.File, count(s.Clips), count(s.Frames), size(s.Bytes), s.Engine)
	}
	s := in.Settings
	row("made with", "format %s, voice %s, shard size %d, seed %d, %g to %g s", s.Format, s.Voice, s.ShardSize, s.Seed, s.Gates.MinSeconds, s.Gates.MaxSeconds)
	return b.String()
}
