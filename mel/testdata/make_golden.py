"""Writes Hugging Face's mels of the clips that the Go test makes as well.

Reference: transformers 5.22.2 and numpy 2.4.6 on Python 3.11, the path that
WhisperFeatureExtractor takes without torch. In the environment that
scripts/parity sets up, from the repository's root:
    scripts/parity --goldens

speech.s16 (16 kHz, little-endian int16) is an input: espeak-ng 1.51 saying
"Mels, once and for all." (-s 220), resampled by package audio.

Written: golden.json, a list of clips and what is true of each whole array of
3000 frames; mels_80.f32 and mels_128.f32, the frames that golden.json names,
clip after clip, row-major [frame][mel]; filters.json, the mel filters.
"""

import json
import pathlib

import numpy as np
from transformers import WhisperFeatureExtractor

HERE = pathlib.Path(__file__).parent
LONGEST = 480000


def noise(n, shift):
    """A 32-bit LCG's upper half."""
    state, out = 12345, np.empty(n, np.int16)
    for i in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = ((state >> 16) - 32768) >> shift
    return out


def square(n):
    return np.array([9000 if i // 18 % 2 == 0 else -9000 for i in range(n)], np.int16)


def sine(n):
    """An integer resonator, near 1 kHz."""
    out, before, now = np.empty(n, np.int16), 0, 6000
    for i in range(n):
        out[i] = now
        before, now = now, ((now * 30274) >> 14) - before
    return out


def clicks(n):
    return np.array([-32768 if i % 1009 == 500 else 0 for i in range(n)], np.int16)


def constant(n, value):
    return np.full(n, value, np.int16)


SPEECH = np.fromfile(HERE / "speech.s16", "<i2")
EDGES = [0, 1, 2, 1499, 1500, 2996, 2997, 2998, 2999]
CLIPS = [
    ("empty", constant(0, 0)),
    ("one sample", constant(1, 20000)),
    ("silence", constant(4000, 0)),
    ("constant", constant(3000, 10000)),
    ("clicks", clicks(4000)),
    ("square", square(3000)),
    ("sine", sine(4001)),
    ("noise", noise(5000, 0)),
    ("faint noise", noise(1600, 15)),
    ("speech", SPEECH),
    ("29.9 s of square", square(LONGEST - 1600)),
    ("30 s less a sample", noise(LONGEST - 1, 2)),
    ("30 s", noise(LONGEST, 2)),
]


def real_frames(n):
    return sum(160 * t - 200 < n for t in range(3000)) if n else 0


golden = [{"name": name, "samples": len(x)} for name, x in CLIPS]
filters = {}
for mels in (80, 128):
    hf = WhisperFeatureExtractor(feature_size=mels)
    filters[mels] = []
    for row in hf.mel_filters.T:
        at = np.flatnonzero(row)
        first = int(at[0]) if len(at) else 0
        last = int(at[-1]) + 1 if len(at) else 0
        filters[mels].append({"first": first, "weights": row[first:last].tolist()})
    with open(HERE / f"mels_{mels}.f32", "wb") as out:
        for entry, (_, x) in zip(golden, CLIPS):
            speech = x.astype(np.float32) / 32768
            # What hf(speech) does where there is no torch, in float64.
            whole = np.pad(speech, (0, LONGEST - len(speech)))
            mel = hf._np_extract_fbank_features(whole[None], "cpu")[0]
            assert mel.shape == (mels, 3000) and mel.dtype == np.float32
            # Short clips whole and one frame of padding; of long ones, the edges.
            n = real_frames(len(x))
            assert n == 3000 or (mel[:, n:] == mel[0, 2999]).all()
            frames = list(range(n + 1)) if n < 200 else EDGES
            entry["frames"] = frames
            entry[f"mean_{mels}"] = float(mel.mean(dtype=np.float64))
            entry[f"max_{mels}"] = float(mel.max())
            out.write(mel[:, frames].T.astype("<f4").tobytes())

lines = ",\n".join(json.dumps(entry) for entry in golden)
(HERE / "golden.json").write_text(f"[\n{lines}\n]\n")
(HERE / "filters.json").write_text(json.dumps(filters) + "\n")
