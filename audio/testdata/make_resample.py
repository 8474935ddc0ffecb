"""Writes the resampler's golden files, NAME.s16 (little-endian int16).

Reference: scipy 1.17.1 with numpy 2.4.6 on Python 3.11:
    python make_resample.py

scipy.signal.resample_poly is given a filter of the design that the Go code
documents (Kaiser, 100 dB, transition from 0.92 to 1 of the lower Nyquist): the
polyphase arithmetic, the alignment and the length are scipy's own.
"""

import math
import pathlib

import numpy as np
from scipy import signal

STOPBAND, TRANSITION = 100.0, 0.08
OUT = pathlib.Path(__file__).parent


def noise(n):
    """The integer noise that the Go test makes: a 32-bit LCG's upper half."""
    state, out = 12345, np.empty(n, np.int16)
    for i in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = ((state >> 16) - 32768) // 2
    return out


def resample(x, old, new):
    d = math.gcd(old, new)
    up, down = new // d, old // d
    slow = max(up, down)  # the lower Nyquist is 1/slow of that at the high rate
    half = (STOPBAND - 7.95) / (2.285 * math.pi * TRANSITION / slow) / 2
    n = np.arange(-math.floor(half), math.floor(half) + 1)
    taps = np.i0(0.1102 * (STOPBAND - 8.7) * np.sqrt(1 - (n / half) ** 2))
    taps *= np.sinc((1 - TRANSITION / 2) / slow * n)
    taps /= taps.sum()
    y = signal.resample_poly(x.astype(np.float64), up, down, window=taps)
    return np.clip(np.rint(y), -32768, 32767).astype("<i2")


for old, new in [(22050, 16000), (44100, 16000), (48000, 16000), (24000, 16000),
                 (11025, 16000), (8000, 16000), (16000, 22050)]:
    resample(noise(1500), old, new).tofile(OUT / f"noise_{old}_{new}.s16")
