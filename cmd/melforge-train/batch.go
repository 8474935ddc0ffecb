package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/compute"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/trainer/loop"
	"github.com/melforge/melforge/trainer/optim"
)

// tryMessage is one try of --batch auto.
type tryMessage struct {
	Clips   int     `json:"clips"`
	Labels  int     `json:"labels"`
	Bytes   int64   `json:"bytes,omitempty"` // 0 where the backend does not say
	Room    int64   `json:"room_bytes,omitempty"`
	Ran     bool    `json:"ran"`  // a step was made
	Fits    bool    `json:"fits"` // or would have been
	Seconds float64 `json:"seconds"`
}

// batchMessage is what --batch auto chose.
type batchMessage struct {
	Batch  int   `json:"batch"`
	Labels int   `json:"labels"`
	Bytes  int64 `json:"bytes,omitempty"`
	Room   int64 `json:"room_bytes,omitempty"`
}

// batchOf is --batch, measured where it is auto, of so many clips at most.
func (a *app) batchOf(ctx context.Context, w *whisperModel, fl *whisperFlags, clips int) (int, error) {
	n, err := fl.fixedBatch()
	if err != nil || n > 0 {
		return n, err
	}
	if fl.backend != "xla" {
		return 0, terminal.Usagef("--batch auto fills the memory of a GPU and needs --backend xla: give a number of clips")
	}
	o, err := fl.optimizer(max(1, fl.warmup) + 1)
	if err != nil {
		return 0, err
	}
	c := card{most: clips, memory: cardMemory}
	if used, total, ok := cardMemory(ctx); ok {
		c.room = max(1, memoryPart*total-used)
	}
	c.try = func(clips int, within float64) (float64, error) {
		a.ui.StatusOften(fmt.Sprintf("--batch auto: trying %d clips", clips), true)
		m := tryMessage{Clips: clips, Labels: w.widest(), Room: int64(c.room)}
		start := time.Now()
		err := w.try(fl, o, within, &m)
		m.Seconds = time.Since(start).Seconds()
		if err == nil || loop.OutOfMemory(err) {
			a.ui.Message("batch_try", m, tryText(m))
		}
		return float64(m.Bytes), err
	}
	n, bytes, err := c.autoBatch(ctx)
	if err != nil {
		return 0, err
	}
	m := batchMessage{Batch: n, Labels: w.widest(), Bytes: int64(bytes), Room: int64(c.room)}
	a.ui.Message("batch", m, batchText(m))
	return n, nil
}

// try compiles a step of m.Clips clips, and makes it if it takes no more memory
// than within. It says in m how that went.
func (w *whisperModel) try(fl *whisperFlags, o optim.AdamW, within float64, m *tryMessage) error {
	store := newStore(fl.seed)
	if err := w.folder.Load(store); err != nil {
		return err
	}
	batch := w.blank(m.Clips)
	// Beside the step there is one batch that is ready, one that is on its way, and
	// those that are added up with this one.
	ahead := 0
	for _, x := range batch.Inputs {
		ahead += (fl.accumulate + 1) * int(x.Shape().ByteSize())
	}
	err := loop.Probe(w.backend, store, w.model, o, batch, fl.accumulate > 1, func(graphs []compute.Executable) bool {
		for _, g := range graphs {
			if bytes := deviceMemory(g); bytes > 0 {
				m.Bytes = max(m.Bytes, bytes+int64(ahead))
			}
		}
		m.Ran = m.Bytes == 0 || float64(m.Bytes) <= within
		return m.Ran
	})
	m.Fits = err == nil && (m.Room == 0 || m.Bytes <= m.Room)
	return err
}

func tryText(m tryMessage) string {
	what, takes := "compiled", ""
	if m.Ran {
		what = "a step was made"
	}
	if !m.Fits {
		what += ", no room"
	}
	if m.Bytes > 0 {
		takes = fmt.Sprintf(" take %.2f GiB", float64(m.Bytes)/gibi)
	}
	return fmt.Sprintf("--batch auto: %d clips with %d labels%s (%s, %.1f s)\n", m.Clips, m.Labels, takes, what, m.Seconds)
}

func batchText(m batchMessage) string {
	if m.Bytes == 0 {
		return fmt.Sprintf("--batch auto: %d clips\n", m.Batch)
	}
	return fmt.Sprintf("--batch auto: %d clips, which take %.2f of the %.2f GiB that may be used\n", m.Batch, float64(m.Bytes)/gibi, float64(m.Room)/gibi)
}
