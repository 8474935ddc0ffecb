package mel

import "fmt"

// Config describes a log-mel spectrogram fully: two clips computed under equal
// Configs can be mixed in one training run. Where a field is optional, its zero
// value is what Whisper does.
type Config struct {
	Name         string  `json:"name"`
	Rate         int     `json:"rate"`          // samples a second
	NFFT         int     `json:"n_fft"`         // points of the FFT
	Hop          int     `json:"hop"`           // samples from one frame to the next
	NMels        int     `json:"n_mels"`        // values in a frame
	FMin         float64 `json:"f_min"`         // lower edge of the first mel filter, in Hz
	FMax         float64 `json:"f_max"`         // upper edge of the last one
	MelScale     string  `json:"mel_scale"`     // "slaney", "htk" or "kaldi"
	MelNorm      string  `json:"mel_norm"`      // "slaney": every filter has the same area; "none": the same height
	LogFloor     float64 `json:"log_floor"`     // least power that the logarithm sees
	DynamicRange float64 `json:"dynamic_range"` // what lies further below the clip's maximum is raised, in the logarithm's units; 0: nothing is
	Offset       float64 `json:"offset"`        // the result is (logarithm + Offset) / Divisor
	Divisor      float64 `json:"divisor"`
	ChunkSeconds int     `json:"chunk_seconds"` // what every clip is padded to; 0 in every framing but a chunk

	Framing          string  `json:"framing,omitempty"`           // how frames lie on the clip: see the constants
	WinLength        int     `json:"win_length,omitempty"`        // samples in a window; 0: NFFT
	Window           string  `json:"window,omitempty"`            // "": periodic Hann; "hann-symmetric"; "povey": that to the power 0.85
	FullScale        float64 `json:"full_scale,omitempty"`        // what the largest sample counts; 0: 1
	Preemphasis      float64 `json:"preemphasis,omitempty"`       // a in x[i] - a·x[i-1], over the clip
	FramePreemphasis float64 `json:"frame_preemphasis,omitempty"` // the same inside every frame, whose first sample loses a of itself
	RemoveDC         bool    `json:"remove_dc,omitempty"`         // every frame's mean is taken from it first
	Spectrum         string  `json:"spectrum,omitempty"`          // "": power; "magnitude": its root
	SpectrumAdd      float64 `json:"spectrum_add,omitempty"`      // added to the power under the root
	Log              string  `json:"log,omitempty"`               // "": log10; "ln"
	LogAdd           float64 `json:"log_add,omitempty"`           // added to what the logarithm sees
	Normalize        string  `json:"normalize,omitempty"`         // "": not; "per-feature": each mel to mean 0 and deviation 1 over the clip
}

// LikeWhisper says whether c computes as Whisper does, with other numbers
// perhaps: every optional field is zero. An engine that knows no others can
// refuse the rest by it.
func (c Config) LikeWhisper() bool {
	return c == Config{
		Name: c.Name, Rate: c.Rate, NFFT: c.NFFT, Hop: c.Hop, NMels: c.NMels, FMin: c.FMin, FMax: c.FMax,
		MelScale: "slaney", MelNorm: "slaney", LogFloor: c.LogFloor, DynamicRange: c.DynamicRange,
		Offset: c.Offset, Divisor: c.Divisor, ChunkSeconds: c.ChunkSeconds,
	}
}

// How frames lie on a clip of n samples, and what is beyond its ends.
const (
	// FramingChunk pads the clip with zeros to ChunkSeconds, mirrors it at both
	// ends, and centres frames on the samples 0, Hop, 2·Hop…; the one on the
	// very end is dropped. It is Whisper's.
	FramingChunk = ""
	// FramingCentre mirrors the clip at both ends and centres 1 + n/Hop frames.
	// It is torch.stft's.
	FramingCentre = "centre"
	// FramingCentreZero puts zeros at both ends and centres n/Hop frames. It is
	// NeMo's.
	FramingCentreZero = "centre-zero"
	// FramingSnip takes only whole windows. It is Kaldi's.
	FramingSnip = "snip"
	// FramingInner mirrors (NFFT-Hop)/2 samples at both ends, so that there are
	// n/Hop frames. It is HiFi-GAN's.
	FramingInner = "inner"
)

// longest is what a clip may last where it is not padded to a chunk.
const longest = 3600

// MaxSamples is the length of the longest clip: the chunk's, if there is one,
// or an hour's.
func (c Config) MaxSamples() int {
	if c.Framing == FramingChunk {
		return c.Rate * c.ChunkSeconds
	}
	return c.Rate * longest
}

// PaddedFrames is the number of frames of a padded clip, zero where clips are
// not padded.
func (c Config) PaddedFrames() int {
	if c.Framing == FramingChunk {
		return c.MaxSamples() / c.Hop
	}
	return 0
}

// Frames is the number of frames of a clip of that many samples. In a chunk,
// these are the real ones, whose window touches a real sample; every other
// holds only padding.
func (c Config) Frames(samples int) int {
	if samples <= 0 {
		return 0
	}
	switch c.Framing {
	case FramingCentre:
		return 1 + samples/c.Hop
	case FramingCentreZero, FramingInner:
		return samples / c.Hop
	case FramingSnip:
		return max(0, (samples-c.winLength()+c.Hop)/c.Hop)
	}
	// Frame t begins at sample t·Hop - NFFT/2, and is real if that comes
	// before the clip's end. Reflection at the borders reaches no sample that
	// the window does not hold anyway, except in the first frame, always real.
	return min((samples+c.NFFT/2+c.Hop-1)/c.Hop, c.PaddedFrames())
}

// start is the first sample of frame 0, zero or less.
func (c Config) start() int {
	switch c.Framing {
	case FramingSnip:
		return 0
	case FramingInner:
		return -(c.NFFT - c.Hop) / 2
	}
	return -c.NFFT / 2
}

// source is the index in a clip of n samples from which sample i comes, given
// that i may lie before the beginning or after the end; -1 is a zero.
func (c Config) source(i, n int) int { return sourceOf(i, n, c.mirrored(n)) }

// mirrored is how many samples, with zeros behind those of a clip of n, go on
// beyond their ends as in a mirror; 0: none do.
func (c Config) mirrored(n int) int {
	switch c.Framing {
	case FramingChunk:
		return c.MaxSamples()
	case FramingCentre, FramingInner:
		return n
	}
	return 0
}

// sourceOf is source for many samples of one clip.
func sourceOf(i, n, mirrored int) int {
	if mirrored > 0 {
		i = mirror(i, mirrored)
	}
	if i < 0 || i >= n {
		return -1
	}
	return i
}

// mirror reflects an index into 0 to n-1 without repeating the ends, as often
// as it takes.
func mirror(i, n int) int {
	if n == 1 {
		return 0
	}
	for i < 0 || i >= n {
		if i < 0 {
			i = -i
		} else {
			i = 2*(n-1) - i
		}
	}
	return i
}

func (c Config) winLength() int {
	if c.WinLength == 0 {
		return c.NFFT
	}
	return c.WinLength
}

// unit is what one step of a sample counts.
func (c Config) unit() float64 {
	if c.FullScale == 0 {
		return 1.0 / 32768
	}
	return c.FullScale / 32768
}

// checkLength refuses clips that do not fit.
func (c Config) checkLength(samples int) error {
	if samples < 0 || samples > c.MaxSamples() {
		return fmt.Errorf("clip of %d samples: %s takes at most %d (%d s at %d Hz); split it",
			samples, c.Name, c.MaxSamples(), c.MaxSamples()/c.Rate, c.Rate)
	}
	return nil
}
