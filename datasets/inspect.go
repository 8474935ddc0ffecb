package datasets

import (
	"slices"

	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
)

// Inspection is what is in a dataset.
type Inspection struct {
	Totals     manifests.Totals      `json:"totals"`
	Durations  Durations             `json:"durations_seconds"`
	Voices     map[string]VoiceShare `json:"voices"`
	Reasons    map[string]int        `json:"reject_reasons"`
	WavBytes   int64                 `json:"wav_bytes"`
	ShardBytes int64                 `json:"shard_bytes"`
	Mel        *mel.Config           `json:"mel"`
	Layout     string                `json:"layout"`
	Settings   manifests.Settings    `json:"settings"`
	Shards     []manifests.Shard     `json:"shards"`
}

// Durations describes how long the entries are.
type Durations struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
}

// VoiceShare is how much of a dataset a voice speaks.
type VoiceShare struct {
	Entries int     `json:"entries"`
	Seconds float64 `json:"seconds"`
}

// Inspect sums up a dataset from its index and manifest.
func (f Folder) Inspect() (*Inspection, error) {
	d, err := f.MustLoad()
	if err != nil {
		return nil, err
	}
	in := &Inspection{
		Totals: d.Totals, Mel: d.Mel, Layout: d.Layout.String(), Settings: d.Settings, Shards: d.Shards,
		Voices: map[string]VoiceShare{}, Reasons: map[string]int{},
	}
	for _, s := range d.Shards {
		in.ShardBytes += s.Bytes
	}
	var seconds []float64
	wavs := map[manifests.Key]bool{}
	for e, err := range f.Entries(d) {
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, e.Duration)
		v := in.Voices[e.Voice]
		in.Voices[e.Voice] = VoiceShare{v.Entries + 1, v.Seconds + e.Duration}
		if !wavs[e.Key] {
			wavs[e.Key] = true
			in.WavBytes += e.Bytes
		}
	}
	for r, err := range f.Rejects(d) {
		if err != nil {
			return nil, err
		}
		in.Reasons[r.Reason]++
	}
	if n := len(seconds); n > 0 {
		slices.Sort(seconds)
		in.Durations = Durations{Min: seconds[0], Median: seconds[n/2], P95: seconds[n*95/100], Max: seconds[n-1]}
	}
	return in, nil
}
