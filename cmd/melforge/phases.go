package main

import (
	"time"

	"github.com/melforge/melforge/transforms"
)

// phases says when a run came how far, in seconds after its start. Shards are
// made while the plan is read, so they are moments and not lengths of time.
type phases struct {
	Engine  float64 `json:"engine_open,omitempty"`
	Planned float64 `json:"planned"`
	Made    float64 `json:"shards_made"`
	Indexed float64 `json:"indexed"` // the dataset is committed
}

// phases takes them when the dataset is there, and logs them for those who look
// for lost time.
func (a *app) phases(t transforms.Times) phases {
	since := func(moment time.Time) float64 {
		if moment.IsZero() {
			return 0
		}
		return moment.Sub(a.started).Seconds()
	}
	p := phases{Engine: since(t.Engine), Planned: since(a.planned), Made: since(t.Made), Indexed: since(time.Now())}
	a.ui.Log.Debug().Float64("engine_open", p.Engine).Float64("planned", p.Planned).Float64("shards_made", p.Made).
		Float64("indexed", p.Indexed).Msg("seconds after the start")
	return p
}
