package mel

import (
	"fmt"
	"math"
	"slices"
)

// Validate reports what keeps c from being computed.
func (c Config) Validate() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("mel configuration %q: %w", c.Name, err)
	}
	return nil
}

func (c Config) check() error {
	chunk := c.Framing == FramingChunk
	switch {
	case c.Rate < 1 || c.NFFT < 2 || c.NFFT%2 != 0 || c.Hop < 1 || c.NMels < 1:
		return fmt.Errorf("rate %d, n_fft %d (even), hop %d and n_mels %d must be positive", c.Rate, c.NFFT, c.Hop, c.NMels)
	case c.NFFT > 1<<16 || c.NMels > 1<<12 || c.Rate > 1<<20 || c.ChunkSeconds > longest:
		return fmt.Errorf("rate %d, n_fft %d, n_mels %d or chunk_seconds %d is beyond what makes sense", c.Rate, c.NFFT, c.NMels, c.ChunkSeconds)
	case chunk && c.ChunkSeconds < 1 || !chunk && c.ChunkSeconds != 0:
		return fmt.Errorf("chunk_seconds %d: framing %q wants %s", c.ChunkSeconds, c.Framing, map[bool]string{true: "1 or more", false: "0"}[chunk])
	case c.MaxSamples() < max(c.NFFT, c.Hop):
		return fmt.Errorf("%d s are shorter than one window or hop", c.ChunkSeconds)
	case c.WinLength < 0 || c.winLength() > c.NFFT || c.winLength() < 2:
		return fmt.Errorf("win_length %d must be within 2 and n_fft %d", c.WinLength, c.NFFT)
	case c.Framing != FramingSnip && (c.RemoveDC || c.FramePreemphasis != 0):
		return fmt.Errorf("remove_dc and frame_preemphasis want framing %q, not %q", FramingSnip, c.Framing)
	case c.Framing == FramingInner && c.Hop > c.NFFT:
		return fmt.Errorf("hop %d is beyond n_fft %d, which framing %q does not allow", c.Hop, c.NFFT, c.Framing)
	case !(0 <= c.FMin && c.FMin < c.FMax && c.FMax <= float64(c.Rate)/2):
		return fmt.Errorf("f_min %g and f_max %g must be within 0 and half the rate", c.FMin, c.FMax)
	}
	if err := c.checkWords(); err != nil {
		return err
	}
	return c.checkNumbers()
}

// checkWords refuses words that mean nothing.
func (c Config) checkWords() error {
	for _, w := range []struct {
		field, value string
		known        []string
	}{
		{"framing", c.Framing, []string{FramingChunk, FramingCentre, FramingCentreZero, FramingSnip, FramingInner}},
		{"window", c.Window, []string{"", "hann-symmetric", "povey"}},
		{"mel_scale", c.MelScale, []string{"slaney", "htk", "kaldi"}},
		{"mel_norm", c.MelNorm, []string{"slaney", "none"}},
		{"spectrum", c.Spectrum, []string{"", "magnitude"}},
		{"log", c.Log, []string{"", "ln"}},
		{"normalize", c.Normalize, []string{"", "per-feature"}},
	} {
		if !slices.Contains(w.known, w.value) {
			return fmt.Errorf("%s %q must be one of %q", w.field, w.value, w.known)
		}
	}
	return nil
}

// checkNumbers refuses numbers from which no finite mel would come.
func (c Config) checkNumbers() error {
	for _, n := range []struct {
		field string
		value float64
	}{
		{"log_floor", c.LogFloor}, {"dynamic_range", c.DynamicRange}, {"full_scale", c.FullScale},
		{"log_add", c.LogAdd}, {"spectrum_add", c.SpectrumAdd}, {"preemphasis", c.Preemphasis}, {"frame_preemphasis", c.FramePreemphasis},
	} {
		if !(n.value >= 0) || math.IsInf(n.value, 0) {
			return fmt.Errorf("%s %g must be a number, 0 or more", n.field, n.value)
		}
	}
	switch {
	case c.LogFloor == 0 && c.LogAdd == 0:
		return fmt.Errorf("log_floor 0 and log_add 0: one must keep the logarithm from silence")
	case !(c.Divisor > 0) || math.IsInf(c.Divisor, 0):
		return fmt.Errorf("divisor %g must be positive", c.Divisor)
	case math.IsNaN(c.Offset) || math.IsInf(c.Offset, 0):
		return fmt.Errorf("offset %g must be a number", c.Offset)
	}
	return nil
}
