package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/pipelines"
)

// showConfig prints the resolved configuration.
func (a *app) showConfig(j *job) {
	values := map[string]string{"command": j.cmd.Name(), "source": j.source, "runner": runner()}
	for _, s := range resolved(j.cmd) {
		values[s.name] = s.value
	}
	if j.options.Settings.Voice != "" {
		values["voice"] = j.options.Settings.Voice
	}
	values["out"] = j.out
	a.ui.Message("config", values, configText(values))
}

func configText(values map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "melforge %s %s → %s\n", values["command"], values["source"], values["out"])
	width := 0
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if k == "command" || k == "source" || k == "out" || values[k] == "" || values[k] == "false" {
			continue
		}
		word := k + "=" + values[k]
		if width += len(word) + 1; width > 92 || width == len(word)+1 {
			if width > 92 {
				b.WriteByte('\n')
			}
			b.WriteByte(' ')
			width = len(word) + 1
		}
		b.WriteString(" " + word)
	}
	return b.String() + "\n"
}

// planMessage is the plan as --json shows it.
type planMessage struct {
	Counts   manifests.Counts   `json:"counts"`
	Reasons  map[string]int     `json:"reject_reasons"`
	Shards   int                `json:"new_shards"`
	Estimate manifests.Estimate `json:"estimate"`
}

func (a *app) showPlan(j *job, p *manifests.Plan) {
	a.ui.Message("plan", planMessage{p.Counts, p.Reasons, len(p.Shards), p.Estimate}, planText(p, j.dryRun))
}

func planText(p *manifests.Plan, dryRun bool) string {
	var b strings.Builder
	c := p.Counts
	fmt.Fprintf(&b, "plan: %s lines: %s new, %s reused, %s rejected", count(c.Lines), count(c.New), count(c.Done+c.Shared), count(c.Reject))
	if c.Repeated > 0 {
		fmt.Fprintf(&b, ", %s repeated", count(c.Repeated))
	}
	b.WriteByte('\n')
	if c.HaveWav > 0 {
		fmt.Fprintf(&b, "  wavs there already: %s of the new clips\n", count(c.HaveWav))
	}
	for _, r := range slices.Sorted(maps.Keys(p.Reasons)) {
		fmt.Fprintf(&b, "  rejected, %s: %s\n", r, count(p.Reasons[r]))
	}
	if e := p.Estimate; e.AudioSeconds > 0 {
		fmt.Fprintf(&b, "  to speak: about %s of audio, %s wav + %s mel, %s with %d jobs\n",
			hours(e.AudioSeconds), size(e.WavBytes), size(e.MelBytes), duration(e.Seconds), e.Jobs)
	}
	if len(p.Shards) > 0 {
		fmt.Fprintf(&b, "  new shards: %d\n", len(p.Shards))
	}
	if dryRun {
		b.WriteString("nothing was done\n")
	}
	return b.String()
}

// summary is what a run did, as --json shows it.
type summary struct {
	pipelines.Summary
	Out       string           `json:"out"`
	Dataset   manifests.Totals `json:"dataset"`
	Shards    int              `json:"shards"`
	NewShards int              `json:"new_shards"`
	Seconds   float64          `json:"seconds"` // from the start, the plan included
	Slowest   string           `json:"slowest"`
	Phases    phases           `json:"phases"`
}

func (a *app) showSummary(j *job, p *manifests.Plan, d *manifests.Dataset, s pipelines.Summary, at phases) {
	m := summary{
		Summary: s, Out: j.out, Dataset: d.Totals, Shards: len(d.Shards), NewShards: len(p.Shards),
		Seconds: at.Indexed, Slowest: slowest(s.Cost), Phases: at,
	}
	a.ui.Message("summary", m, summaryText(m))
}

func summaryText(m summary) string {
	var b strings.Builder
	d := m.Dataset
	made := count(m.Spoken) + " spoken"
	if m.Augmented > 0 {
		made += ", " + count(m.Augmented) + " augmented"
	}
	fmt.Fprintf(&b, "done: %s clips made (%s, %s of audio) and %s rejected in %s\n",
		count(m.Clips), made, hours(m.AudioSeconds), count(m.Rejects), duration(m.Seconds))
	if m.Slowest != "" {
		fmt.Fprintf(&b, "  slowest part: %s\n", m.Slowest)
	}
	fmt.Fprintf(&b, "  written: %s\n", size(m.Bytes))
	fmt.Fprintf(&b, "%s: %s entries, %s of audio, %d shards (%d new), %s rejects\n",
		m.Out, count(d.Entries), hours(d.Seconds), m.Shards, m.NewShards, count(d.Rejects))
	fmt.Fprintf(&b, "next:\n  %s verify %s --read-data\n  %s inspect %s\n", os.Args[0], m.Out, os.Args[0], m.Out)
	return b.String()
}

// slowest names the part that took most of the workers' time, and its share.
func slowest(c manifests.Cost) string {
	parts := []struct {
		name    string
		seconds float64
	}{{"speech", c.Speech}, {"listening", c.Hear}, {"wavs (resampling, writing)", c.Wav}, {"mels", c.Mel}, {"shards (writing)", c.Write}}
	sum, top := 0.0, parts[0]
	for _, p := range parts {
		sum += p.seconds
		if p.seconds > top.seconds {
			top = p
		}
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %.0f %% of the workers' time", top.name, 100*top.seconds/sum)
}

// count prints a number with its thousands apart.
func count[T int | int64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size prints bytes in a unit that suits them.
func size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	x, i := float64(n), 0
	for x >= 999.5 && i < len(units)-1 {
		x /= 1000
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", x, units[i])
}

// hours prints a length of audio.
func hours(seconds float64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.1f min", seconds/60)
	}
	return fmt.Sprintf("%.2f h", seconds/3600)
}

// duration prints a waiting time.
func duration(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(math.Round(seconds) * float64(time.Second)).String()
}
