package trainer

import (
	"fmt"
	"path/filepath"

	"github.com/melforge/melforge/manifests"
)

// stateVersion is the only version of State so far.
const stateVersion = 1

// State is where a Loader is: small, and the same JSON as that of the Python
// package. The state of rank 0 serves all ranks, and any number of them.
type State struct {
	Version int `json:"version"`
	Epoch   int `json:"epoch"`
	// Position is the clips of the epoch that all ranks have taken together.
	Position int        `json:"position"`
	Order    StateOrder `json:"order"`
	// Manifest is the version of the dataset, Entries its readable clips.
	Manifest manifests.File `json:"manifest"`
	Entries  int            `json:"entries"`
}

// StateOrder is what decides the order, besides the epoch and the lengths. The
// size of a batch does only where lengths are sorted.
type StateOrder struct {
	Seed    int64 `json:"seed"`
	Shuffle bool  `json:"shuffle"`
	Buckets int   `json:"bucket"`
	Batch   *int  `json:"batch_size"`
}

func (o LoaderOptions) stateOrder() StateOrder {
	s := StateOrder{Seed: o.Seed, Shuffle: !o.Sequential, Buckets: o.Buckets}
	if o.Buckets > 1 {
		s.Batch = &o.Batch
	}
	return s
}

func (s StateOrder) equal(o StateOrder) bool {
	if (s.Batch == nil) != (o.Batch == nil) || s.Batch != nil && *s.Batch != *o.Batch {
		return false
	}
	s.Batch, o.Batch = nil, nil
	return s == o
}

func (s StateOrder) String() string {
	text := fmt.Sprintf("seed %d, shuffle %t, buckets %d", s.Seed, s.Shuffle, s.Buckets)
	if s.Batch != nil {
		text += fmt.Sprintf(", batch %d", *s.Batch)
	}
	return text
}

// validate refuses states that no Loader with this order gave.
func (s State) validate(order StateOrder) error {
	switch {
	case s.Version != stateVersion:
		return fmt.Errorf("a state of version %d, want %d: use the release that wrote it", s.Version, stateVersion)
	case !s.Order.equal(order):
		return fmt.Errorf("the state is of another order: %s; now it is %s: use the options of then", s.Order, order)
	case s.Epoch < 0 || s.Position < 0 || s.Position > s.Entries:
		return fmt.Errorf("damaged state: epoch %d, position %d of %d", s.Epoch, s.Position, s.Entries)
	case !filepath.IsLocal(filepath.FromSlash(s.Manifest.File)):
		return fmt.Errorf("damaged state: %q is no file of a dataset", s.Manifest.File)
	}
	return nil
}
