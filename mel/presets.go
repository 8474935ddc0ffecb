package mel

import (
	"fmt"
	"strings"
)

// presets are the configurations that have a name, the default first.
func presets() []Config {
	return []Config{
		// transformers' WhisperFeatureExtractor (5.22.2), openai-whisper's
		// log_mel_spectrogram (20250625): 80 mels up to large-v2, then 128.
		whisper("whisper-80", 80),
		whisper("whisper-128", 128),
		// torchaudio.transforms.MelSpectrogram (2.11.0) with 80 mels every
		// 10 ms, then clamp_min(1e-10).log10()·20.
		{
			Name: "torchaudio-db", Rate: 16000, NFFT: 400, Hop: 160, Framing: FramingCentre,
			NMels: 80, FMax: 8000, MelScale: "htk", MelNorm: "none",
			LogFloor: 1e-10, Divisor: 1.0 / 20,
		},
		// NeMo's FilterbankFeatures (3.0.0) without dither, as its ASR models
		// of 80 mels configure it.
		{
			Name: "nemo-80", Rate: 16000, NFFT: 512, WinLength: 400, Hop: 160, Framing: FramingCentreZero,
			Window: "hann-symmetric", Preemphasis: 0.97,
			NMels: 80, FMax: 8000, MelScale: "slaney", MelNorm: "slaney",
			Log: "ln", LogAdd: 0x1p-24, Divisor: 1, Normalize: "per-feature",
		},
		// kaldi-native-fbank (1.22.4) with 80 bins and without dither, on
		// samples of 16 bits as Kaldi has them.
		{
			Name: "kaldi-fbank-80", Rate: 16000, NFFT: 512, WinLength: 400, Hop: 160, Framing: FramingSnip,
			Window: "povey", FullScale: 32768, FramePreemphasis: 0.97, RemoveDC: true,
			NMels: 80, FMin: 20, FMax: 8000, MelScale: "kaldi", MelNorm: "none",
			Log: "ln", LogFloor: 0x1p-23, Divisor: 1,
		},
		// HiFi-GAN's meldataset.mel_spectrogram with the settings of its
		// config_v1.json.
		{
			Name: "hifigan-80", Rate: 22050, NFFT: 1024, Hop: 256, Framing: FramingInner,
			Spectrum: "magnitude", SpectrumAdd: 1e-9,
			NMels: 80, FMax: 8000, MelScale: "slaney", MelNorm: "slaney",
			Log: "ln", LogFloor: 1e-5, Divisor: 1,
		},
	}
}

func whisper(name string, mels int) Config {
	return Config{
		Name: name, Rate: 16000, NFFT: 400, Hop: 160,
		NMels: mels, FMin: 0, FMax: 8000, MelScale: "slaney", MelNorm: "slaney",
		LogFloor: 1e-10, DynamicRange: 8, Offset: 4, Divisor: 4,
		ChunkSeconds: 30,
	}
}

// Presets lists the names that [Preset] knows, the default first.
func Presets() []string {
	var names []string
	for _, c := range presets() {
		names = append(names, c.Name)
	}
	return names
}

// Preset returns the configuration of that name.
func Preset(name string) (Config, error) {
	for _, c := range presets() {
		if c.Name == name {
			return c, nil
		}
	}
	return Config{}, fmt.Errorf("unknown mel preset %q: choose one of %s", name, strings.Join(Presets(), ", "))
}
