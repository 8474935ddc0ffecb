"""SpecAugment while loading: stretches of time and bands of frequency are masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from .order import mix


@dataclass(frozen=True)
class SpecAugment:
    """Masks drawn anew in every epoch (Park et al. 2019, without the time warp).

    What is drawn depends on seed, epoch and the entry's index alone: not on the
    process that draws, nor on what was drawn before. So a resumed run sees
    what the interrupted one would have seen.
    """

    time_masks: int = 2
    time_width: int = 40  # frames at most
    time_share: float = 0.2  # and at most this part of the clip
    freq_masks: int = 2
    freq_width: int = 15  # mels at most
    fill: Optional[float] = None  # None: the clip's own mean
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.time_masks, self.time_width, self.freq_masks, self.freq_width) < 0 or not 0 <= self.time_share <= 1:
            raise ValueError(f"{self}: counts and widths from 0 on, time_share from 0 to 1")

    def __call__(self, mel: np.ndarray, epoch: int, index: int) -> np.ndarray:
        """A masked copy of mel [frames, n_mels]. Only real frames are masked, never the padding."""
        out = mel.copy()
        frames, n_mels = mel.shape
        if frames == 0:
            return out
        fill = mel.mean(dtype=np.float32) if self.fill is None else self.fill
        longest = min(self.time_width, int(self.time_share * frames))
        for k in range(self.time_masks):
            first, last = self._span(frames, longest, epoch, index, 2 * k)
            out[first:last] = fill
        for k in range(self.freq_masks):
            first, last = self._span(n_mels, min(self.freq_width, n_mels), epoch, index, 2 * k + 1)
            out[:, first:last] = fill
        return out

    def _span(self, size: int, longest: int, epoch: int, index: int, draw: int) -> tuple[int, int]:
        width = mix(self.seed, epoch, index, 2 * draw) % (longest + 1)
        first = mix(self.seed, epoch, index, 2 * draw + 1) % (size - width + 1)
        return first, first + width
