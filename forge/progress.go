package forge

import (
	"sync/atomic"
	"time"

	"github.com/melforge/melforge/internal/timeline"
	"github.com/melforge/melforge/manifests"
)

// Progress counts what was made so far. Its methods are safe for concurrent
// use.
type Progress struct{ clips, rejects, samples atomic.Int64 }

// Snapshot is a progress at one moment.
type Snapshot struct {
	// Clips and Rejects are done, Samples is their length together.
	Clips, Rejects, Samples int64
}

// Now takes a snapshot.
func (p *Progress) Now() Snapshot {
	return Snapshot{p.clips.Load(), p.rejects.Load(), p.samples.Load()}
}

func (p *Progress) clip(samples int) {
	p.clips.Add(1)
	p.samples.Add(int64(samples))
}

func (p *Progress) reject(n int) { p.rejects.Add(int64(n)) }

// costs sums the time that a shard's workers spent, by what they did.
type costs struct{ speech, hear, wav, mel, write stopwatch }

func (c *costs) total() manifests.Cost {
	return manifests.Cost{Speech: c.speech.seconds(), Hear: c.hear.seconds(), Wav: c.wav.seconds(), Mel: c.mel.seconds(), Write: c.write.seconds()}
}

// name says where the timeline has them, and what they are of.
func (c *costs) name(of string) {
	for track, s := range map[string]*stopwatch{"speech": &c.speech, "hear": &c.hear, "wav": &c.wav, "mel": &c.mel, "write": &c.write} {
		s.track, s.of = track, of
	}
}

// stopwatch adds up durations from many goroutines.
type stopwatch struct {
	ns        atomic.Int64
	track, of string
}

// since adds what was done since start.
func (s *stopwatch) since(start time.Time, what string) {
	s.ns.Add(int64(time.Since(start)))
	timeline.Add(s.track, what, s.of, start)
}

func (s *stopwatch) seconds() float64 { return time.Duration(s.ns.Load()).Seconds() }
