package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/melforge/melforge/mel"
)

// Mel measures a mel engine with clips of one length: from memory, from wav
// files in the page cache, and from there into synced HDF5 shards.
type Mel struct {
	Engine  mel.Engine
	Folder  string  // for files, which are removed afterwards
	Clip    float64 // seconds of a clip; 0: half a minute, or the longest of the engine's configuration
	Seconds float64 // of each measurement; 0: 2
	Workers int     // callers at a time
	Readers int     // of them that read a file at a time; 0: one a core
}

// MelReport is what one run measured.
type MelReport struct {
	Engine  string  `json:"engine"`
	Mel     string  `json:"mel"`
	Clip    float64 `json:"clip_seconds"`
	Memory  Rate    `json:"memory"`  // samples are copied to where the engine wants them
	Files   Rate    `json:"files"`   // samples come from wav files in the page cache
	Reading Rate    `json:"reading"` // the same without computing: whoever feeds an engine from files cannot be faster
	Shards  Rate    `json:"shards"`  // the same, and frames go into HDF5 files that are synced
	Writers int     `json:"writers"` // shards that are written at once, and files raw
	Read    Raw     `json:"raw_read"`
	Write   Raw     `json:"raw_write"` // of files as large as a shard, as many at once
	// OfRaw is the rate at which frames went into shards over that of writing
	// bytes raw.
	OfRaw float64 `json:"shards_of_raw_write"`
}

// Rate is how fast clips went through, and where the callers' time went: in
// seconds of all of them together for each second that went by.
type Rate struct {
	Clips   float64 `json:"clips_per_second"`
	Bytes   float64 `json:"bytes_per_second"` // of their samples
	Read    float64 `json:"read"`
	Compute float64 `json:"compute"` // computing, and waiting for the engine
	Write   float64 `json:"write"`   // into HDF5, with the sync
	// Device is how long a device worked, by what it did, in seconds for each
	// second; none where the engine has no device.
	Device map[string]float64 `json:"device,omitempty"`
}

// timed is an engine that knows how long its devices have worked.
type timed interface {
	Busy() map[string]time.Duration
}

// shardClips is how many clips a shard of the measurement has, and wavClips how
// many wavs there are: more than a processor's cache holds.
const (
	shardClips = 128
	wavClips   = 4 * shardClips
)

// Run measures.
func (m Mel) Run(ctx context.Context) (MelReport, error) {
	cfg := m.Engine.Config()
	if m.Clip == 0 {
		m.Clip = min(30, float64(cfg.MaxSamples())/float64(cfg.Rate))
	}
	if m.Seconds == 0 {
		m.Seconds = 2
	}
	if m.Readers == 0 {
		m.Readers = runtime.GOMAXPROCS(0)
	}
	n := int(m.Clip * float64(cfg.Rate))
	if n < 1 || n > cfg.MaxSamples() {
		return MelReport{}, fmt.Errorf("clips of %g s: %s takes up to %g s", m.Clip, cfg.Name, float64(cfg.MaxSamples())/float64(cfg.Rate))
	}
	dir, err := os.MkdirTemp(m.Folder, "melforge-bench-")
	if err != nil {
		return MelReport{}, err
	}
	defer os.RemoveAll(dir)
	wavs, err := MakeWavs(ctx, dir, wavClips, cfg.Rate, m.Clip, m.Clip)
	if err == nil {
		err = SyncAll(ctx, wavs.Paths)
	}
	if err != nil {
		return MelReport{}, err
	}
	r := MelReport{Engine: m.Engine.Name(), Mel: cfg.Name, Clip: m.Clip, Writers: min(m.Workers, max(2, runtime.GOMAXPROCS(0)/2))}
	return r, m.measure(ctx, dir, wavs, n, &r)
}

// measure takes all figures, with wavs of n samples.
func (m Mel) measure(ctx context.Context, dir string, wavs Wavs, n int, r *MelReport) (err error) {
	if r.Read, err = RawRead(ctx, wavs.Paths, m.Readers); err != nil {
		return err
	}
	f := flow{Mel: m, samples: n, turns: make(chan struct{}, m.Readers)}
	noise := makeNoise(n)
	f.clip = func(int) source { return source{samples: noise} }
	if r.Memory, err = f.run(ctx); err != nil {
		return err
	}
	f.clip = func(i int) source { return source{path: wavs.Paths[i%len(wavs.Paths)]} }
	if r.Files, err = f.run(ctx); err != nil {
		return err
	}
	f.only = true
	if r.Reading, err = f.run(ctx); err != nil {
		return err
	}
	f.only = false
	size := int64(0)
	if r.Shards, size, err = f.runShards(ctx, dir, r.Writers, m.Engine.Config().Frames(n)); err != nil {
		return err
	}
	if r.Write, err = RawWrite(ctx, dir, 2*int64(r.Writers)*size, 2*r.Writers, r.Writers); err != nil {
		return err
	}
	r.OfRaw = r.Shards.Clips * float64(size) / shardClips / r.Write.Rate
	return nil
}
