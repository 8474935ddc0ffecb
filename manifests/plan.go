package manifests

import (
	"errors"
	"fmt"

	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/mel"
)

// State says what the plan decided for a line.
type State string

// What can become of a line.
const (
	// StateNew is the first line of a key that has to be made, in shard Item.Shard.
	StateNew State = "new"
	// StateShared names a key that an earlier line already makes.
	StateShared State = "shared"
	// StateDone names a key that the dataset holds.
	StateDone State = "done"
	// StateReject is a line that cannot be used.
	StateReject State = "reject"
)

// Item is one corpus line with everything decided, a line of the plan's items
// file. The items stand in corpus order.
type Item struct {
	State State  `json:"state"`
	Line  int    `json:"line"`
	ID    string `json:"id"`
	Text  string `json:"text,omitempty"`
	// Spoken is what the voice is given, where a lexicon changed the text.
	Spoken string  `json:"spoken,omitempty"`
	Key    Key     `json:"key,omitzero"`
	Lang   string  `json:"lang,omitempty"`
	Voice  string  `json:"voice,omitempty"`
	Speed  float64 `json:"speed,omitempty"`
	Pitch  float64 `json:"pitch,omitempty"`
	// Audio is the path of a wav that was there before; nothing is spoken.
	Audio string `json:"audio,omitempty"`
	// Part is the stretch of Audio that is taken where the whole is too long. It
	// becomes a wav of the dataset.
	Part gates.Part `json:"part,omitzero"`
	// Augment is what is done to the clip Base, which is spoken as said above;
	// Key is then that of the result.
	Base    Key            `json:"base,omitzero"`
	Augment *augment.Drawn `json:"augment,omitempty"`
	// Shard counts the plan's shards from 0; it belongs to StateNew.
	Shard int `json:"shard,omitempty"`
	// Reject belongs to StateReject.
	Reject *Reject `json:"reject,omitempty"`
}

// Say is what a voice is given.
func (i *Item) Say() string {
	if i.Spoken != "" {
		return i.Spoken
	}
	return i.Text
}

func (i *Item) validate() error {
	switch i.State {
	case StateNew, StateShared, StateDone:
		if i.Key.IsZero() || i.ID == "" {
			return fmt.Errorf("%s item without key or id", i.State)
		}
		if p := i.Part; !p.IsZero() && (i.Audio == "" || p.From < 0 || p.To <= p.From) {
			return fmt.Errorf("%s is samples %d to %d of %q", i.ID, p.From, p.To, i.Audio)
		}
	case StateReject:
		if i.Reject == nil {
			return errors.New("reject item without its reason")
		}
		return i.Reject.validate()
	default:
		return fmt.Errorf("unknown state %q", i.State)
	}
	return nil
}

// Plan is everything decided before work starts: which shards are to be made,
// each as a range of the items file.
type Plan struct {
	Version int `json:"version"`
	// Items is the items file, relative to the dataset's folder.
	Items string `json:"items"`
	// Base is the checksum of the dataset.json that the plan builds on, "" if
	// there was none. A plan is carried out on that dataset or not at all.
	Base string `json:"base,omitempty"`
	// Mel is nil when only wavs are made.
	Mel *mel.Config `json:"mel,omitempty"`
	// Layout is that of the shards to be made.
	Layout Layout      `json:"layout,omitempty"`
	Shards []ShardPlan `json:"shards"`
	// Settings is the resolved configuration as dataset.json will store it.
	Settings Settings `json:"settings"`
	Counts   Counts   `json:"counts"`
	// Reasons counts the rejects by theirs.
	Reasons  map[string]int `json:"reject_reasons"`
	Estimate Estimate       `json:"estimate"`
}

// ShardPlan is one shard to be made: the unit of work, and what crosses the
// pipeline. It refers to its utterances and does not hold them.
type ShardPlan struct {
	// Index counts the plan's shards from 0.
	Index int `json:"index"`
	// Name is the file's name without folder and extension. It holds a hash
	// of the mel configuration, the gates and the keys in order, so that a shard left
	// by an interrupted run is taken up again exactly if it is the same.
	Name string `json:"name"`
	// Clips is the number of utterances, at Bytes bytes from Offset.
	Clips  int   `json:"clips"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Counts sums up the lines of a corpus by what was decided for them.
type Counts struct {
	Lines int `json:"lines"`
	// New clips are to be made, Shared lines use one of them, Done lines use
	// what the dataset holds.
	New    int `json:"new"`
	Shared int `json:"shared"`
	Done   int `json:"done"`
	Reject int `json:"rejects"`
	// Repeated lines have the id and text of an earlier one and are left out.
	Repeated int `json:"repeated"`
	// HaveWav of the new clips need no speech: their wav is there.
	HaveWav int `json:"have_wav"`
}

// Estimate says how large and how long the work will be.
type Estimate struct {
	AudioSeconds float64 `json:"audio_seconds"`
	WavBytes     int64   `json:"wav_bytes"`
	MelBytes     int64   `json:"mel_bytes"`
	// Seconds is the expected wall time with Jobs at once.
	Seconds float64 `json:"seconds"`
	Jobs    int     `json:"jobs"`
}
