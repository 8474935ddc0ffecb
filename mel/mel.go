// Package mel computes log-mel spectrograms: the configurations, the readable
// reference, and the engine interface with its CPU implementation.
//
// The Whisper presets equal Hugging Face's WhisperFeatureExtractor. Whisper
// pads every clip with zeros to 30 s; here nothing is computed or kept for a
// frame that is only padding, since all its values are the same number.
package mel

import (
	"slices"

	"github.com/x448/float16"
)

// Mel is the log-mel spectrogram of one clip as FP16 bits: the frames whose
// window touches real samples, and the one value that fills all others.
type Mel struct {
	Frames []uint16 // row-major [N][NMels]
	N      int      // number of frames
	NMels  int
	Pad    uint16 // every value of every frame that is only padding
}

// Padded writes m as the row-major array [NMels][frames], Hugging Face's
// orientation, with padding after the real frames; frames beyond those asked
// for are left out. It uses dst's memory if it suffices, and returns the array.
func (m Mel) Padded(dst []uint16, frames int) []uint16 {
	size := m.NMels * frames
	dst = slices.Grow(dst[:0], size)[:size]
	n := min(m.N, frames)
	for b := range m.NMels {
		row := dst[b*frames : (b+1)*frames]
		for t := range n {
			row[t] = m.Frames[t*m.NMels+b]
		}
		for t := n; t < frames; t++ {
			row[t] = m.Pad
		}
	}
	return dst
}

// half rounds v to FP16 by way of float32, in which Hugging Face gives its
// values.
func half(v float64) uint16 { return float16.Fromfloat32(float32(v)).Bits() }
