package manifests

import (
	"errors"
	"fmt"

	"github.com/melforge/melforge/augment"
)

// Entry is one line of manifest.jsonl: an utterance that is in the dataset.
// NeMo's three fields come first, so that its tools read the file as it is.
type Entry struct {
	// Audio is relative to the dataset's folder for wavs that it holds, and
	// absolute for wavs that were there before.
	Audio    string  `json:"audio_filepath"`
	Duration float64 `json:"duration"`
	Text     string  `json:"text"`

	// Spoken is what the voice was given, where a lexicon changed the text.
	Spoken string `json:"spoken,omitempty"`
	ID     string `json:"id"`
	// Line is the corpus line it came from.
	Line  int     `json:"line"`
	Key   Key     `json:"key"`
	Lang  string  `json:"lang,omitempty"`
	Voice string  `json:"voice,omitempty"`
	Speed float64 `json:"speed,omitempty"`
	Pitch float64 `json:"pitch,omitempty"`
	// Augment is what was done to the clip Base to make this one; nil for a
	// plain clip.
	Base    Key            `json:"base,omitzero"`
	Augment *augment.Drawn `json:"augment,omitempty"`

	Clip
	Row
}

// Clip is what was measured of a wav.
type Clip struct {
	// Samples counts them at the rate of the mels, after resampling.
	Samples int `json:"samples"`
	// Peak and RMS are fractions of full scale, Loudness is in LUFS.
	Peak     float64 `json:"peak"`
	RMS      float64 `json:"rms"`
	Loudness float64 `json:"loudness"`
	// Bytes and CRC32C (eight hex digits) cover the wav file.
	Bytes  int64  `json:"bytes"`
	CRC32C string `json:"crc32c"`
	// ASR is what a recogniser heard, where that was asked for.
	ASR *Heard `json:"asr,omitempty"`
}

// Heard is a recogniser's transcript and its word error rate against the text.
type Heard struct {
	Text string  `json:"text"`
	WER  float64 `json:"wer"`
}

// Row says where a clip's mel is. It is zero as long as there is none.
type Row struct {
	// Shard is the path relative to the dataset's folder.
	Shard string `json:"shard,omitempty"`
	// Index is the clip's place in the shard, Frames its stored frames.
	Index  int `json:"row"`
	Frames int `json:"frames"`
}

// HasMel reports whether the entry's mel was computed.
func (r Row) HasMel() bool { return r.Shard != "" }

func (e *Entry) validate() error {
	switch {
	case e.Audio == "":
		return errors.New("no audio_filepath")
	case e.ID == "":
		return errors.New("no id")
	case e.Key.IsZero():
		return errors.New("no key")
	case e.Samples < 0 || e.Index < 0 || e.Frames < 0 || e.Bytes < 0:
		return fmt.Errorf("entry %s: negative count", e.ID)
	}
	return nil
}

// Stage says where in the flow a line was rejected.
type Stage string

// The stages a line passes, in order.
const (
	StageCorpus Stage = "corpus" // the line itself: encoding, columns, ids
	StageText   Stage = "text"   // the text: empty, no letters, too long
	StageVoice  Stage = "voice"  // the voice it asks for
	StageSpeech Stage = "speech" // the engine that speaks it
	StageAudio  Stage = "audio"  // the sound: unreadable, too short, too long, silent
)

// Reject is one line of rejects.jsonl: a corpus line that is not in the
// dataset, and why.
type Reject struct {
	Line   int    `json:"line"`
	ID     string `json:"id,omitempty"`
	Stage  Stage  `json:"stage"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Text   string `json:"text,omitempty"`
	// Key is set once the utterance had one: a later run does not try the
	// same key again unless told to.
	Key *Key `json:"key,omitempty"`
}

func (r *Reject) validate() error {
	if r.Stage == "" || r.Reason == "" {
		return errors.New("no stage or no reason")
	}
	return nil
}
