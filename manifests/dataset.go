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
	DatasetFormat  = "melforge-dataset"
	DatasetVersion = 1
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
	Mel      *mel.Config `json:"mel,omitempty"`
	Totals   Totals      `json:"totals"`
	Manifest File        `json:"manifest"`
	Rejects  File        `json:"rejects"`
	Shards   []Shard     `json:"shards"`
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

// HasMel reports whether the dataset's shards were made with configuration c.
func (d *Dataset) HasMel(c *mel.Config) bool {
	return d.Mel != nil && c != nil && *d.Mel == *c
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
	if head.Version != DatasetVersion {
		return nil, fmt.Errorf("dataset version %d is not known to this melforge (it knows %d): use the release that made it, or a newer one",
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
	for _, s := range d.Shards {
		if err := local(s.File); err != nil {
			return err
		}
		if d.Mel == nil {
			return fmt.Errorf("shard %s, but no mel configuration", s.File)
		}
		if s.Clips < 1 || s.Frames < 0 || s.Bytes < 1 || s.MelOffset < 0 || s.NMels != d.Mel.NMels {
			return fmt.Errorf("shard %s: impossible numbers", s.File)
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
