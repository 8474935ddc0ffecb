package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/transforms"
)

// ticker says when it is time to show something again.
type ticker struct{ next time.Time }

func newTicker() *ticker { return &ticker{time.Now().Add(time.Second)} }

func (t *ticker) due() bool {
	now := time.Now()
	if now.Before(t.next) {
		return false
	}
	t.next = now.Add(time.Second)
	return true
}

// progressMessage is what --json shows of a run under way.
type progressMessage struct {
	Done         int64   `json:"done"`
	Total        int64   `json:"total"`
	Rejects      int64   `json:"rejects"`
	Seconds      float64 `json:"seconds"`
	ClipsPerSec  float64 `json:"clips_per_second"`
	AudioHourSec float64 `json:"audio_hours_per_second"`
	ETA          float64 `json:"eta_seconds"`
}

// watcher shows progress until it is stopped.
type watcher struct {
	quit chan struct{}
	done sync.WaitGroup
}

// showProgress watches the process at work: often on a terminal, now and then
// in a pipe or under cron.
func (a *app) showProgress(j *job, p *manifests.Plan, proc *transforms.Process) *watcher {
	w := &watcher{quit: make(chan struct{})}
	every := 10 * time.Second
	if a.ui.TTY {
		every = 200 * time.Millisecond
	}
	if a.ui.JSON {
		every = time.Second
	}
	start := time.Now()
	w.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-w.quit:
				return
			case <-t.C:
				a.tell(measure(p, progress(j, p, proc), time.Since(start)))
			}
		}
	})
	return w
}

func (w *watcher) stop() {
	close(w.quit)
	w.done.Wait()
}

func (a *app) tell(m progressMessage) {
	if a.ui.JSON {
		a.ui.Message("progress", m, "")
		return
	}
	a.ui.Status(progressText(m))
}

// progress is this process's own, or, where others do the work, that of the
// shards whose results are there.
func progress(j *job, p *manifests.Plan, proc *transforms.Process) forge.Snapshot {
	now := proc.Progress()
	if now != (forge.Snapshot{}) || isLocal(runner()) {
		return now
	}
	for _, s := range p.Shards {
		if r, err := forge.ReadResult(j.folder, s.Name); err == nil {
			now.Rejects += int64(len(r.Rejects))
			now.Clips += int64(len(r.Made))
			for _, m := range r.Made {
				now.Samples += int64(m.Samples)
			}
		}
	}
	return now
}

func isLocal(runner string) bool {
	switch runner {
	case "prism", "PrismRunner", "direct", "DirectRunner":
		return true
	}
	return false
}

func measure(p *manifests.Plan, now forge.Snapshot, elapsed time.Duration) progressMessage {
	m := progressMessage{
		Done: now.Clips + now.Rejects, Total: int64(p.Counts.New), Rejects: now.Rejects + int64(p.Counts.Reject),
		Seconds: elapsed.Seconds(),
	}
	m.ClipsPerSec = float64(m.Done) / m.Seconds
	m.AudioHourSec = float64(now.Samples) / float64(p.Settings.Rate) / 3600 / m.Seconds
	if m.ClipsPerSec > 0 {
		m.ETA = float64(m.Total-m.Done) / m.ClipsPerSec
	}
	return m
}

func progressText(m progressMessage) string {
	eta := "?"
	if m.ETA > 0 || m.Done == m.Total {
		eta = duration(m.ETA)
	}
	percent := 100.0
	if m.Total > 0 {
		percent = 100 * float64(m.Done) / float64(m.Total)
	}
	return fmt.Sprintf("%s/%s clips (%.0f %%), %.1f/s, %.4f audio-h/s, %s rejects, ETA %s",
		count(m.Done), count(m.Total), percent, m.ClipsPerSec, m.AudioHourSec, count(m.Rejects), eta)
}
