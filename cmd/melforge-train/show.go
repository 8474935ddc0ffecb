package main

import (
	"fmt"
	"strings"

	"github.com/melforge/melforge/internal/score"
	"github.com/melforge/melforge/trainer/loop"
)

// stepMessage is a step as --json shows it.
type stepMessage struct {
	loop.Step
	Share            float64 `json:"wait_share"`
	SamplesPerSecond float64 `json:"samples_per_second"`
}

// rate is the clips a second of one step.
func rate(s loop.Step) float64 {
	if t := s.Wait + s.Work; t > 0 {
		return float64(s.Samples) / t
	}
	return 0
}

func startText(s startMessage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s\n", s.Title, s.Backend)
	fmt.Fprintf(&b, "  %d clips, ", s.Clips)
	if s.Held > 0 {
		fmt.Fprintf(&b, "%d more kept for evaluation; ", s.Held)
	} else {
		fmt.Fprintf(&b, "evaluated on the same; ")
	}
	fmt.Fprintf(&b, "%d steps of %d clips", s.Steps, s.Batch*s.Accumulate)
	if s.Accumulate > 1 {
		fmt.Fprintf(&b, " in %d batches", s.Accumulate)
	}
	if s.Labels > 0 {
		fmt.Fprintf(&b, ", up to %d labels", s.Labels)
	}
	fmt.Fprintf(&b, ", learning rate %g\n", s.Rate)
	if s.From > 0 {
		fmt.Fprintf(&b, "  going on after step %d\n", s.From)
	}
	return b.String()
}

func stepText(s loop.Step, steps int) string {
	text := fmt.Sprintf("step %d/%d  epoch %d  loss %.4f  lr %.2e  norm %.2f  %.1f samples/s  %.2f it/s  wait %.1f ms (%.2f %%)",
		s.Step, steps, s.Epoch+1, s.Loss, s.Rate, s.Norm, rate(s), 1/max(s.Wait+s.Work, 1e-9), 1000*s.Wait, 100*s.Share())
	if s.Compile > 0.05 {
		text += fmt.Sprintf("  compiled %.1f s", s.Compile)
	}
	return text
}

func evaluationText(e loop.Evaluation, y score.Tally) string {
	best := ""
	if e.Best {
		best = ", the best so far"
	}
	return fmt.Sprintf("step %d: %.1f %% of %d clips exact, WER %.2f %%, CER %.2f %% (%.1f s%s)\n",
		e.Step, 100*y.ExactShare(), y.Clips, 100*y.WER(), 100*y.CER(), e.Seconds, best)
}

// facts are the figures of a run, for its page and the summary.
func facts(m summaryMessage) [][2]string {
	f := [][2]string{
		{"steps", fmt.Sprintf("%d (to step %d)", m.Steps, m.Last)},
		{"loss", fmt.Sprintf("%.4f → %.4f", m.FirstLoss, m.LastLoss)},
		{"waited for data", fmt.Sprintf("%.3f s of %.1f s: %.2f %%", m.Wait, m.Wait+m.Work, 100*m.Share)},
		{"speed", fmt.Sprintf("%.1f samples/s, %.2f it/s", m.SamplesPerSecond, m.StepsPerSecond)},
		{"a step", stepParts(m.Summary)},
		{"compiled", fmt.Sprintf("%.1f s", m.Compile)},
		{"evaluated, saved", fmt.Sprintf("%.1f s, %.1f s", m.Evaluate, m.Save)},
	}
	if m.Stopped != "" {
		f = append(f, [2]string{"stopped", m.Stopped})
	}
	return f
}

// stepParts says where the time of a step goes, on average.
func stepParts(s loop.Summary) string {
	ms := func(seconds float64) float64 { return 1000 * seconds / float64(max(1, s.Steps)) }
	return fmt.Sprintf("%.1f ms (median %.1f): %.1f on the device, %.1f waiting, %.1f the rest; copying batches there takes %.1f beside it",
		ms(s.Wait+s.Work), 1000*s.Median, ms(s.Device), ms(s.Wait), ms(s.Work-s.Device), ms(s.HandOver))
}

func summaryText(m summaryMessage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "done in %.1f s\n", m.Wall)
	for _, f := range facts(m) {
		fmt.Fprintf(&b, "  %-17s %s\n", f[0], f[1])
	}
	fmt.Fprintf(&b, "  %-17s %.1f %% of %d clips exact, WER %.2f %%\n", "transcribed", 100*m.Exact, m.Score.Clips, 100*m.WER)
	for _, f := range [][2]string{{"curve", m.Curve}, {"transcripts", m.Transcripts}, {"checkpoint", m.Checkpoint}, {"model", m.Model}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %-17s %s\n", f[0], f[1])
		}
	}
	return b.String()
}
