"""The kinds of work that a training loop should not have to wait for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Kind:
    """One kind of work, how to tell it by names in code or on a stack, and what to do about it."""

    name: str
    pattern: re.Pattern
    advice: str


ONCE = "do it once, before training: melforge mel wavs --out dataset, and train from the dataset"

# The first that fits counts: a voice also makes spectrograms, and a feature extractor may resample.
KINDS = (
    Kind(
        "speech",
        re.compile(
            r"piper|espeak|pyttsx|\bgtts\b|edge_tts|kokoro|parler|suno|\bbark\b|speecht5|\bvits\b|xtts|tortoise|styletts|coqui"
            r"|\btts\b|\bTTS\b|text_to_speech|text-to-speech|synthesi[sz]e|melotts|f5_tts|cosyvoice"
        ),
        "speak the corpus once, before training: melforge run corpus.txt --out dataset, and train from the dataset",
    ),
    Kind(
        "features",
        re.compile(
            r"feature_extract|FeatureExtractor|mel_?spec|spectrogram|log_mel|\bstft\b|fbank|mfcc|AutoProcessor|\bprocessor\b", re.I
        ),
        ONCE,
    ),
    Kind("resampling", re.compile(r"resampl|resampy|soxr|samplerate", re.I), ONCE),
    Kind(
        "decoding",
        re.compile(
            r"soundfile|\bsf\.read\b|audioread|torchcodec|pydub|ffmpeg|torchaudio\S*load|librosa\S*load|wavfile|\bwave\."
            r"|datasets.features.audio",
            re.I,
        ),
        ONCE,
    ),
    Kind(
        "augmentation",
        re.compile(r"audiomentations|augment", re.I),
        "make augmented versions once: melforge run corpus.txt --augment recipe.yaml",
    ),
    Kind("tokens", re.compile(r"tokeniz", re.I), "tokenise once for all texts, in batches, before training"),
)


def kind_of(text: str) -> Optional[Kind]:
    """The kind of work that names in code speak of, if any."""
    return next((kind for kind in KINDS if kind.pattern.search(text)), None)
