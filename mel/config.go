package mel

import (
	"fmt"
	"slices"
	"strings"
)

// Config describes a log-mel spectrogram fully: two clips computed under equal
// Configs can be mixed in one training run.
type Config struct {
	Name         string  `json:"name"`
	Rate         int     `json:"rate"`          // samples a second
	NFFT         int     `json:"n_fft"`         // samples in a window, and points of its FFT
	Hop          int     `json:"hop"`           // samples from one frame to the next
	NMels        int     `json:"n_mels"`        // values in a frame
	FMin         float64 `json:"f_min"`         // lower edge of the first mel filter, in Hz
	FMax         float64 `json:"f_max"`         // upper edge of the last one
	MelScale     string  `json:"mel_scale"`     // "slaney": linear to 1 kHz, logarithmic above
	MelNorm      string  `json:"mel_norm"`      // "slaney": every filter has the same area
	LogFloor     float64 `json:"log_floor"`     // least power that the logarithm sees
	DynamicRange float64 `json:"dynamic_range"` // what lies further below the clip's maximum is raised, in log10 units
	Offset       float64 `json:"offset"`        // the result is (log10 + Offset) / Divisor
	Divisor      float64 `json:"divisor"`
	ChunkSeconds int     `json:"chunk_seconds"` // what every clip is padded to
}

// whisper is the configuration of Hugging Face's WhisperFeatureExtractor.
func whisper(name string, mels int) Config {
	return Config{
		Name: name, Rate: 16000, NFFT: 400, Hop: 160,
		NMels: mels, FMin: 0, FMax: 8000, MelScale: "slaney", MelNorm: "slaney",
		LogFloor: 1e-10, DynamicRange: 8, Offset: 4, Divisor: 4,
		ChunkSeconds: 30,
	}
}

// Presets lists the names that [Preset] knows, the default first.
func Presets() []string { return []string{"whisper-80", "whisper-128"} }

// Preset returns the configuration of that name: whisper-80 is that of Whisper
// up to large-v2, whisper-128 that of large-v3 and turbo.
func Preset(name string) (Config, error) {
	switch name {
	case "whisper-80":
		return whisper(name, 80), nil
	case "whisper-128":
		return whisper(name, 128), nil
	}
	return Config{}, fmt.Errorf("unknown mel preset %q: choose one of %s", name, strings.Join(Presets(), ", "))
}

// Validate reports what keeps c from being computed.
func (c Config) Validate() error {
	known := []string{"slaney"}
	switch {
	case c.Rate < 1 || c.NFFT < 2 || c.NFFT%2 != 0 || c.Hop < 1 || c.NMels < 1 || c.ChunkSeconds < 1:
		return fmt.Errorf("mel configuration %q: rate %d, n_fft %d (even), hop %d, n_mels %d and chunk_seconds %d must be positive",
			c.Name, c.Rate, c.NFFT, c.Hop, c.NMels, c.ChunkSeconds)
	case c.MaxSamples() < max(c.NFFT, c.Hop):
		return fmt.Errorf("mel configuration %q: %d s are shorter than one window or hop", c.Name, c.ChunkSeconds)
	case !(0 <= c.FMin && c.FMin < c.FMax && c.FMax <= float64(c.Rate)/2):
		return fmt.Errorf("mel configuration %q: f_min %g and f_max %g must be within 0 and half the rate", c.Name, c.FMin, c.FMax)
	case !slices.Contains(known, c.MelScale) || !slices.Contains(known, c.MelNorm):
		return fmt.Errorf("mel configuration %q: mel_scale %q and mel_norm %q must each be one of %v", c.Name, c.MelScale, c.MelNorm, known)
	case !(c.LogFloor > 0) || !(c.DynamicRange > 0) || !(c.Divisor > 0):
		return fmt.Errorf("mel configuration %q: log_floor %g, dynamic_range %g and divisor %g must be positive", c.Name, c.LogFloor, c.DynamicRange, c.Divisor)
	}
	return nil
}

// MaxSamples is the length of the longest clip, to which all are padded.
func (c Config) MaxSamples() int { return c.Rate * c.ChunkSeconds }

// PaddedFrames is the number of frames of a padded clip. Frames are centred on
// the samples 0, Hop, 2·Hop…; the one on the clip's very end is dropped.
func (c Config) PaddedFrames() int { return c.MaxSamples() / c.Hop }

// Frames is the number of real frames of a clip of that many samples: those
// whose window touches a real sample. Every other holds only padding.
func (c Config) Frames(samples int) int {
	if samples <= 0 {
		return 0
	}
	// Frame t begins at sample t·Hop - NFFT/2, and is real if that comes
	// before the clip's end. Reflection at the borders reaches no sample that
	// the window does not hold anyway, except in the first frame, always real.
	return min((samples+c.NFFT/2+c.Hop-1)/c.Hop, c.PaddedFrames())
}

// checkLength refuses clips that do not fit.
func (c Config) checkLength(samples int) error {
	if samples < 0 || samples > c.MaxSamples() {
		return fmt.Errorf("clip of %d samples: %s takes at most %d (%d s at %d Hz); split it",
			samples, c.Name, c.MaxSamples(), c.ChunkSeconds, c.Rate)
	}
	return nil
}
