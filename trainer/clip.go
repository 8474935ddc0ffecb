package trainer

import "github.com/melforge/melforge/manifests"

// Clip is what the manifest says of a clip.
type Clip struct {
	// Index is its place in the version of the dataset that it was asked of.
	Index int
	// ID is unique; Key stands for the sound and may come more than once.
	ID, Key string
	// Text is what is spoken, the label.
	Text            string
	Language, Voice string
	// Frames is how many are stored, without padding.
	Frames int
	// Duration is in seconds.
	Duration float64
}

func newClip(e *manifests.Entry, index int) Clip {
	return Clip{
		Index: index, ID: e.ID, Key: e.Key.String(), Text: e.Text, Language: e.Lang, Voice: e.Voice,
		Frames: e.Frames, Duration: e.Duration,
	}
}
