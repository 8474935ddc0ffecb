package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/melforge/melforge/augment"
	"github.com/melforge/melforge/gates"
	"github.com/melforge/melforge/mel"
)

// Version constants of the files this package owns. A reader refuses what it
// does not know, by name.
const (
	DatasetFormat = "melforge-dataset"
	// DatasetVersion is the newest that this release knows; it reads all before
	// it and writes the lowest that will do: see Layout.DatasetVersion.
	DatasetVersion = 2
	PlanVersion    = 1
	ResultVersion  = 1
)

// Dataset is dataset.json: written last, it names every file that counts.
// What it does not name does not exist.
type Dataset struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Settings is the configuration the last run was made with, as far as it
	// decides what is in the dataset.
	Settings Settings `json:"settings"`
	// Mel is the configuration of every shard; nil when there are only wavs.
	Mel *mel.Config `json:"mel,omitempty"`
	// Layout is that of every shard.
	Layout   Layout  `json:"layout,omitempty"`
	Totals   Totals  `json:"totals"`
	Manifest File    `json:"manifest"`
	Rejects  File    `json:"rejects"`
	Shards   []Shard `json:"shards"`
}

// Settings is the resolved configuration of a run, restricted to what decides
// the dataset's content: flags that only change how fast it is made are not in it.
type Settings struct {
	Format string `json:"format"`
	// Voice lists the voices for lines that name none, with their weights;
	// Speed and Pitch are a value or a range for lines that do not say.
	Voice    string `json:"voice,omitempty"`
	Speed    string `json:"speed,omitempty"`
	Pitch    string `json:"pitch,omitempty"`
	Variants int    `json:"variants,omitempty"`
	Lang     string `json:"lang,omitempty"`
	// Rate is that of all wavs made and of all samples counted.
	Rate      int   `json:"rate"`
	Seed      int64 `json:"seed"`
	ShardSize int   `json:"shard_size"`
	MaxChars  int   `json:"max_chars,omitempty"`
	// SplitLong says that several clips are made of what is too long for one: of
	// a text by its sentences, of a wav without a text by its pauses.
	SplitLong bool `json:"split_long,omitempty"`
	// Gates is what a clip must be like after synthesis, and what is done to it.
	Gates gates.Config `json:"gates"`
	// MaxWER is the largest word error rate that a recogniser may find; 0 means
	// that none listened.
	MaxWER float64 `json:"max_wer,omitempty"`
	// Lexicon is the hash of the pronunciations that were applied.
	Lexicon string `json:"lexicon,omitempty"`
	// Augment is what versions of a clip are made by, Versions how many.
	Augment  augment.Recipe `json:"augment,omitzero"`
	Versions int            `json:"augment_versions,omitempty"`
}

// Totals sums up the manifest.
type Totals struct {
	Entries int     `json:"entries"`
	Clips   int     `json:"clips"` // distinct keys
	Seconds float64 `json:"seconds"`
	Frames  int64   `json:"frames"`
	Rejects int     `json:"rejects"`
}

// File is a file that dataset.json names, with its checksum.
type File struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	CRC32C string `json:"crc32c"`
	Lines  int    `json:"lines"`
}

// HasShards reports whether the dataset's shards were made with configuration c
// in layout l: only then can others be added to them.
func (d *Dataset) HasShards(c *mel.Config, l Layout) bool {
	return d.Mel != nil && c != nil && *d.Mel == *c && d.Layout == l
}

// Encode gives the bytes of dataset.json.
func (d *Dataset) Encode() ([]byte, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// DecodeDataset reads dataset.json. The format and version are looked at
// first, so that a newer file is refused for what it is.
func DecodeDataset(b []byte) (*Dataset, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not JSON, or cut short: %w", err)
	}
	if head.Format != DatasetFormat {
		return nil, fmt.Errorf("format is %q, not %q: not a Melforge dataset", head.Format, DatasetFormat)
	}
	if head.Version < 1 || head.Version > DatasetVersion {
		return nil, fmt.Errorf("dataset version %d is not known to this melforge (it knows 1 to %d): use the release that made it, or a newer one",
			head.Version, DatasetVersion)
	}
	var d Dataset
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, err
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	return &d, nil
}

func (d *Dataset) validate() error {
	for _, f := range []File{d.Manifest, d.Rejects} {
		if err := local(f.File); err != nil {
			return err
		}
	}
	switch {
	case d.Layout != Packed && d.Layout != Padded:
		return fmt.Errorf("unknown layout %q", d.Layout)
	case d.Version < d.Layout.DatasetVersion():
		return fmt.Errorf("version %d has no layout %s", d.Version, d.Layout)
	}
	for i := range d.Shards {
		if err := d.Shards[i].validate(d); err != nil {
			return err
		}
	}
	return nil
}

// local wants a path that stays within the dataset's folder.
func local(p string) error {
	if p == "" {
		return errors.New("a file without a name")
	}
	if path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, `\`) {
		return fmt.Errorf("%q is not a path within the dataset's folder", p)
	}
	return nil
}
