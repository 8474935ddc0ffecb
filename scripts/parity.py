"""Compares Melforge's mels with float64 references and with real libraries.

Run by scripts/parity. For Whisper, every clip is held to a float64 reference
written here in numpy, within 1e-5 before FP16, and some clips to the libraries
themselves: to transformers' numpy path within 1e-5, and to the float32 paths of
transformers with torch and of openai-whisper within 1e-5 of what they are off
the float64 reference themselves. Other presets are held to their libraries in
float64 within 1e-4.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import time
import wave

import numpy as np
import torch
import whisper
from transformers import WhisperFeatureExtractor
from transformers.audio_utils import mel_filter_bank

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "mel" / "testdata"))
LONGEST = 480000


class Melforge:
    """The values command as a function from samples to frames and padding."""

    def __init__(self, command, preset, mels):
        self.mels = mels
        self.process = subprocess.Popen([command, preset], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, x):
        self.process.stdin.write(struct.pack("<I", len(x)) + x.astype("<i2").tobytes())
        self.process.stdin.flush()
        n, pad = struct.unpack("<If", self.process.stdout.read(8))
        frames = np.frombuffer(self.process.stdout.read(4 * n * self.mels), "<f4").reshape(n, self.mels)
        return frames, pad

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("parity: the values command failed")


class Reference:
    """Whisper's mel in float64: the frames that touch audio, and the padding."""

    def __init__(self, mels):
        self.filters = mel_filter_bank(201, mels, 0.0, 8000.0, 16000, norm="slaney", mel_scale="slaney")
        self.window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)

    def __call__(self, x):
        n = min((len(x) + 200 + 159) // 160, 3000) if len(x) else 0
        padded = np.zeros(LONGEST)
        padded[: len(x)] = x / 32768.0
        padded = np.pad(padded, 200, mode="reflect")
        logs = np.full((n, self.filters.shape[1]), -10.0)
        if n:
            frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:n]
            power = np.abs(np.fft.rfft(frames * self.window)) ** 2
            logs = np.log10(np.maximum(power @ self.filters, 1e-10))
        floor = max(logs.max(initial=-10.0), -10.0) - 8
        return (np.maximum(logs, floor) + 4) / 4, (max(-10.0, floor) + 4) / 4


def speech(folder):
    """What was spoken, by its engine: the dataset's wavs, and the golden clip."""
    said = {"golden": [np.fromfile(ROOT / "mel" / "testdata" / "speech.s16", "<i2")]}
    for line in (folder / "manifest.jsonl").read_text().splitlines():
        entry = json.loads(line)
        with wave.open(str(folder / entry["audio_filepath"])) as w:
            assert (w.getframerate(), w.getnchannels(), w.getsampwidth()) == (16000, 1, 2), entry
            samples = np.frombuffer(w.readframes(w.getnframes()), "<i2")
        said.setdefault(entry["voice"].split("/")[0], []).append(samples)
    assert {"piper", "espeak"} <= said.keys(), f"no speech of both engines in {folder}"
    return said


def clips(count, rng, said):
    """Kinds and clips: the borders first, then everything at random."""
    utterances = [(engine, v) for engine in sorted(said) for v in said[engine]]

    def noise(n, amplitude=32767):
        return rng.integers(-amplitude - 1, amplitude + 1, n)

    def spoken(n, whole):
        engine, v = utterances[rng.integers(len(utterances))]
        if whole:
            return f"speech, {engine}", v[:LONGEST]
        at = int(rng.integers(0, max(1, len(v) - 400)))
        return f"speech, {engine}", v[at : at + n] * rng.random()

    for n in (0, 1, 2, 199, 200, 201, 399, 400, 401, LONGEST - 201, LONGEST - 200, LONGEST - 1, LONGEST):
        yield "border", noise(n)
        yield "border", np.full(n, -32768)
    for i in range(count - 26):
        n = int(rng.integers(0, 24000)) if i % 400 else int(rng.integers(24000, LONGEST + 1))
        t = np.arange(n)
        kind = i % 10
        if kind < 4:
            yield spoken(n, whole=kind == 0)
        elif kind == 4:
            yield "noise", noise(n, int(2 ** rng.uniform(0, 15)))
        elif kind == 5:
            yield "square", np.where(t // int(rng.integers(1, 400)) % 2, 32767, -32768)
        elif kind == 6:
            yield "sine", 32767 * np.sin(2 * np.pi * rng.uniform(0, 8000) / 16000 * t) * 10 ** -rng.uniform(0, 4.5)
        elif kind == 7:
            x = np.zeros(n)
            x[rng.random(n) < 0.001] = rng.choice([-32768, 32767, 1])
            yield "clicks", x
        elif kind == 8:
            yield "dc", np.full(n, rng.integers(-32768, 32768)) if i % 20 == 8 else np.zeros(n)
        else:
            x = 32767 * np.sin(2 * np.pi * rng.uniform(50, 4000) / 16000 * t)
            yield "loud then faint", np.where(t < n / 2, x, rng.integers(-2, 3, n))


def whisper_parity(command, count, mels, said):
    ours, exact = Melforge(command, f"whisper-{mels}", mels), Reference(mels)
    extractor = WhisperFeatureExtractor(feature_size=mels)

    def libraries(x, i):
        """Each library's name, whole array and tolerance, for some clips."""
        unit = (x / 32768).astype(np.float32)
        whole = np.pad(unit, (0, LONGEST - len(unit)))
        if i % 40 == 0:
            yield "transformers, numpy", extractor._np_extract_fbank_features(whole[None], "cpu")[0]
        if i % 10 == 0:
            yield "transformers, torch", extractor._torch_extract_fbank_features(whole[None], "cpu")[0]
            yield "openai-whisper", whisper.log_mel_spectrogram(torch.from_numpy(whole), mels).numpy()

    worst, fp16, values, seen, failed = {}, 0, 0, {}, 0
    start = time.time()
    rng = np.random.default_rng(2024)
    for i, (kind, x) in enumerate(clips(count, rng, said)):
        x = np.clip(np.round(x), -32768, 32767).astype(np.int16)
        seen[kind] = seen.get(kind, 0) + 1
        (got, pad), (want, want_pad) = ours(x), exact(x)
        assert got.shape == want.shape, (kind, len(x), got.shape, want.shape)
        off = max(np.abs(got - want).max(initial=0), abs(pad - want_pad))
        worst[kind] = max(worst.get(kind, 0), off)
        failed += not off <= 1e-5
        fp16 += (got.astype(np.float16) != want.astype(np.float32).astype(np.float16)).sum()
        values += got.size
        for name, theirs in libraries(x, i):
            theirs, n = theirs.T, len(got)
            between = max(np.abs(theirs[:n] - got).max(initial=0), np.abs(theirs[n:] - pad).max(initial=0))
            own = max(np.abs(theirs[:n] - want).max(initial=0), np.abs(theirs[n:] - want_pad).max(initial=0))
            row = worst.setdefault(name, [0, 0, 0])
            worst[name] = [max(row[0], between), max(row[1], own), row[2] + 1]
            failed += not between <= (1e-5 if "numpy" in name else own + 1e-5)
    ours.close()
    print(f"\nwhisper-{mels}: {sum(seen.values())} clips in {time.time() - start:.0f} s")
    for kind, n in seen.items():
        print(f"  {kind:18} {n:6} clips  off float64 by at most {worst[kind]:.1e}")
    for name in ("transformers, numpy", "transformers, torch", "openai-whisper"):
        between, own, n = worst[name]
        print(f"  {name:22} {n:5} clips  off us by at most {between:.1e}, off float64 by {own:.1e}")
    print(f"  FP16 differs from float64's in {fp16} of {values} values ({fp16 / max(values, 1):.1e})")
    over = subprocess.run([command, f"whisper-{mels}"], input=struct.pack("<I", LONGEST + 1), capture_output=True)
    if over.returncode == 0:
        failed += 1
        print("  30 s and a sample were not refused")
    return failed


def preset_parity(command, wheel, count, said):
    import make_presets as golden

    failed = 0
    for preset, library, compute, exact in (
        ("torchaudio-db", "torchaudio in float64", golden.torchaudio_db, None),
        ("nemo-80", "NeMo in float64", golden.nemo(wheel), None),
        ("kaldi-fbank-80", "torchaudio's port in float64", golden.kaldi64, None),
        ("kaldi-fbank-80", "kaldi-native-fbank", golden.kaldi, golden.kaldi64),
        ("hifigan-80", "HiFi-GAN's code in float64", golden.hifigan, None),
    ):
        ours, worst, own, n = Melforge(command, preset, 80), 0.0, 0.0, 0
        rng = np.random.default_rng(7)
        for kind, x in clips(count, rng, said):
            x = np.clip(np.round(x), -32768, 32767).astype(np.int16)
            # The libraries refuse shorter clips; and where a frame is constant,
            # or normalised over next to nothing, they show rounding only.
            if len(x) < 1600 or len(x) > 48000 or kind.split(",")[0] not in ("speech", "noise"):
                continue
            got, want = ours(x)[0], compute(x).numpy().T
            assert got.shape == want.shape, (preset, len(x), got.shape, want.shape)
            off = np.abs(got - want).max()
            # A library in float32 is allowed its own distance from float64.
            allowance = np.abs(want - exact(x).numpy().T).max() if exact else 0.0
            failed += not off <= 1e-4 + allowance
            worst, own, n = max(worst, off), max(own, allowance), n + 1
        ours.close()
        note = f", off float64 by {own:.1e} itself" if exact else ""
        print(f"{preset:15} {n:5} clips  {library}: off us by at most {worst:.1e}{note}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("wheel")
    parser.add_argument("speech", type=pathlib.Path, help="a dataset with wavs of piper's and espeak's voices")
    parser.add_argument("--clips", type=int, default=10000)
    args = parser.parse_args()
    said = speech(args.speech)
    print("speech:", ", ".join(f"{len(v)} clips of {k}" for k, v in sorted(said.items())))
    failed = sum(whisper_parity(args.command, args.clips, mels, said) for mels in (80, 128))
    print()
    failed += preset_parity(args.command, args.wheel, max(100, args.clips // 20), said)
    sys.exit(f"parity: {failed} failures" if failed else None)


main()
