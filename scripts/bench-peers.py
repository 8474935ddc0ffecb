"""Races log-mel spectrograms. Run by scripts/bench-peers.

Every contender makes 80 log-mels of the same clips at 16 kHz: 400-point windows
every 160 samples (512 points for Kaldi, which knows no others). Ours begins with
int16 samples and ends with FP16, scaled as Whisper has it. The others are given
float32 arrays that were prepared before, and end with their float32 logarithms:
they are spared what comes before and after. A contender that can work on a
batch does, if that is faster for it; one that cannot use threads itself is
given clips in a pool of them. Rounds are interleaved, and the best of each
contender counts, since others may use the machine.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import time

import kaldi_native_fbank
import librosa
import numpy as np
import torch
import torchaudio
import whisper
from transformers import WhisperFeatureExtractor

SPEECH = pathlib.Path(__file__).parent.parent / "mel" / "testdata" / "speech.s16"


class Ours:
    def __init__(self, command, threads, clips):
        self.file = tempfile.NamedTemporaryFile()
        clips.tofile(self.file)
        self.file.flush()
        self.process = subprocess.Popen(
            [command, "whisper-80", str(threads), self.file.name, str(clips.shape[1])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.floor = float(self.process.stdout.readline()) / 1e9

    def __call__(self):
        """The mean of several passes, which together last about as long as one
        of the others': short ones alone would be luckier on a busy machine."""
        passes = 10
        self.process.stdin.write("\n" * passes)
        self.process.stdin.flush()
        return sum(float(self.process.stdout.readline()) for _ in range(passes)) / passes / 1e9

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(work):
    def run():
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return run


def peers(clips, threads):
    """Names and timed functions that each go through all clips."""
    floats = (clips / 32768).astype(np.float32)
    tensor = torch.from_numpy(floats)
    pool = concurrent.futures.ThreadPoolExecutor(threads)

    def each(compute, items):
        if threads == 1:
            return timed(lambda: [compute(x) for x in items])
        return timed(lambda: list(pool.map(compute, items)))

    def serial(compute, items):
        return timed(lambda: [compute(x) for x in items])

    transform = torchaudio.transforms.MelSpectrogram(16000, 400, hop_length=160, n_mels=80, norm="slaney", mel_scale="slaney")

    def by_torchaudio(x):
        return transform(x).clamp_min(1e-10).log10()

    window, filters = torch.hann_window(400), whisper.audio.mel_filters("cpu", 80)

    def by_stft(x):
        power = torch.stft(x, 400, 160, window=window, return_complex=True).abs() ** 2
        return (filters @ power).clamp_min(1e-10).log10()

    extractor = WhisperFeatureExtractor()

    def by_transformers(x):
        return extractor._torch_extract_fbank_features(x, "cpu")

    def by_librosa(x):
        mel = librosa.feature.melspectrogram(y=x, sr=16000, n_fft=400, hop_length=160, n_mels=80)
        return np.log10(np.maximum(mel, 1e-10))

    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = 80

    def by_kaldi(x):
        fbank = kaldi_native_fbank.OnlineFbank(options)
        fbank.accept_waveform(16000, x)
        fbank.input_finished()
        return [fbank.get_frame(i) for i in range(fbank.num_frames_ready)]

    yield "torchaudio", serial(by_torchaudio, tensor)
    yield "torchaudio, batch", serial(by_torchaudio, [tensor])
    yield "torch.stft", serial(by_stft, tensor)
    yield "torch.stft, batch", serial(by_stft, [tensor])
    yield "transformers", serial(by_transformers, floats[:, None])
    yield "transformers, batch", serial(by_transformers, [floats])
    yield "librosa", each(by_librosa, floats)
    yield "kaldi-native-fbank", each(by_kaldi, [x.tolist() for x in floats])


def race(command, threads, seconds, rounds):
    speech = np.fromfile(SPEECH, "<i2")
    count = 240 // seconds  # four minutes
    clips = np.stack([np.resize(np.roll(speech, 997 * i), seconds * 16000) for i in range(count)])
    ours = Ours(command, threads, clips)
    runs = {"melforge": ours} | dict(peers(clips, threads))
    best = {name: float("inf") for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            best[name] = min(best[name], run())
    ours.close()
    total = seconds * count
    print(f"\n{seconds} s clips on {threads} thread{'s' * (threads > 1)}")
    for name, took in sorted(best.items(), key=lambda item: item[1]):
        print(f"  {name:22} {total / took:9.0f} audio-s/s   {took / best['melforge']:6.1f} x our time")
    fastest = min(took for name, took in best.items() if name != "melforge")
    ratio = fastest / best["melforge"]
    floor = ours.floor / threads
    if floor:
        print(f"  floor: {total / floor:.0f} audio-s/s, arithmetic alone at this core's measured rate; we are at {floor / best['melforge']:.0%} of it")
    print(f"  {ratio:.1f} times the fastest peer: {'pass' if ratio >= 2 else 'FAIL'} (bar: 2)")
    return ratio >= 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("threads", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    results = [race(args.command, args.threads, seconds, args.rounds) for seconds in (5, 30)]
    sys.exit(None if all(results) else "bench-peers: below the bar")


main()
