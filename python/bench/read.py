"""Random clips of about three seconds: this package against loops over h5py.

    python bench/read.py DATASET [--clips N] [--cold-clips N]

All read the same clips of the same files in the same order, in turns, after a round
that warms the page cache. "plain" is the recipe of shards/FORMAT.md: files stay open,
offsets, pad value and frames are read for each clip. "tuned" keeps the datasets,
the offsets, the pad values and the whole manifest in memory. Timed are the clip as
float16 (every byte copied out), that with its text, and the padded float32 array
that Whisper takes. Ratios are medians over the rounds.

The last line is of opening the dataset and reading batches of 16 clips that are not in
the page cache, with how much was read from the disk for them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Callable

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import melforge  # noqa: E402


class Plain:
    """A dataset around h5py, reading as the format's description does."""

    def __init__(self, folder: Path) -> None:
        with open(folder / "dataset.json") as f:
            dataset = json.load(f)
        with open(folder / dataset["manifest"]["file"]) as f:
            self.entries = [json.loads(line) for line in f]
        self.files = {s["file"]: h5py.File(folder / s["file"]) for s in dataset["shards"]}

    def clip(self, i: int) -> tuple[np.ndarray, np.float16]:
        e = self.entries[i]
        f, row = self.files[e["shard"]], e["row"]
        first, last = f["offsets"][row : row + 2]
        return f["mel"][first:last], f["pad"][row]

    def mel(self, i: int) -> np.ndarray:
        return self.clip(i)[0]

    def text(self, i: int) -> tuple[np.ndarray, str]:
        return self.clip(i)[0], self.entries[i]["text"]

    def padded(self, i: int) -> np.ndarray:
        mel, pad = self.clip(i)
        out = np.full((mel.shape[1], 3000), pad, np.float32)
        out[:, : len(mel)] = mel.T
        return out


class Tuned(Plain):
    """The same with everything but the frames in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.parts = {name: (f["mel"], f["offsets"][:], f["pad"][:]) for name, f in self.files.items()}

    def clip(self, i: int) -> tuple[np.ndarray, np.float16]:
        e = self.entries[i]
        mel, offsets, pad = self.parts[e["shard"]]
        row = e["row"]
        return mel[offsets[row] : offsets[row + 1]], pad[row]


class Ours:
    """This package."""

    def __init__(self, folder: Path) -> None:
        self.reader = melforge.open(folder)
        self.padded = self.reader.features

    def mel(self, i: int) -> np.ndarray:
        return self.reader[i].mel.copy()

    def text(self, i: int) -> tuple[np.ndarray, str]:
        item = self.reader[i]
        return item.mel.copy(), item.text


def rate(read: Callable[[int], object], order: list[int]) -> float:
    start = time.perf_counter()
    for i in order:
        read(i)
    return len(order) / (time.perf_counter() - start)


def line(name: str, rounds: list[tuple[float, ...]], peers: list[str]) -> str:
    """The medians of what each round measured, ours first."""
    text = f"{name:15} melforge {statistics.median(r[0] for r in rounds):7.0f}/s"
    for k, peer in enumerate(peers, 1):
        ratio = statistics.median(r[0] / r[k] for r in rounds)
        text += f"   {peer} {statistics.median(r[k] for r in rounds):7.0f}/s, ratio {ratio:5.2f}"
    return text


def open_ours(folder: Path) -> Callable[[list[int]], object]:
    data = melforge.Dataset(folder)
    return lambda batch: [s["mel"].copy() for s in data.__getitems__(batch)]


def open_tuned(folder: Path) -> Callable[[list[int]], object]:
    peer = Tuned(folder)
    return lambda batch: [peer.mel(i) for i in batch]


def cold(folder: Path, batches: list[list[int]], open_: Callable[[Path], Callable[[list[int]], object]]) -> tuple[float, float]:
    """Clips a second and MB from the disk, with the shards dropped from the page cache first."""
    for path in (folder / "shards").iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)  # pages that are not yet on disk cannot be dropped
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_inblock, time.perf_counter()
    read = open_(folder)
    for batch in batches:
        read(batch)
    seconds = time.perf_counter() - start
    blocks = resource.getrusage(resource.RUSAGE_SELF).ru_inblock - before
    return sum(map(len, batches)) / seconds, blocks * 512 / 1e6


def cold_line(folder: Path, order: list[int], rounds: int) -> str:
    batches = [order[i : i + 16] for i in range(0, len(order), 16)]
    # A fresh process each: what is still mapped stays in the page cache.
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        results = [[pool.apply(cold, (folder, batches, f)) for f in (open_ours, open_tuned)] for _ in range(rounds)]
    text = line("cold batches", [(a[0], b[0]) for a, b in results], ["tuned"])
    return f"{text}   ({results[0][0][1]:.1f} and {results[0][1][1]:.1f} MB read)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--cold-clips", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()

    frames = melforge.open(args.dataset).frames
    rng = np.random.default_rng(0)
    close = np.flatnonzero(np.abs(frames - 300) < 150)
    order = rng.choice(close, args.clips).tolist()
    lines = [f"{len(frames)} entries, {len(close)} of about 3 s; {args.clips} reads, {args.rounds} rounds"]
    last = cold_line(args.dataset, rng.permutation(close)[: args.cold_clips].tolist(), args.rounds)

    sources = [Ours(args.dataset), Plain(args.dataset), Tuned(args.dataset)]
    for name, method in (("float16 clip", "mel"), ("clip and text", "text"), ("padded float32", "padded")):
        reads = [getattr(s, method) for s in sources]
        if method != "text":
            for i in order[:20]:
                np.testing.assert_array_equal(reads[0](i), reads[1](i))
        for read in reads:
            rate(read, order)
        lines.append(line(name, [tuple(rate(r, order) for r in reads) for _ in range(args.rounds)], ["plain", "tuned"]))
    sys.stdout.write("\n".join([*lines, last]) + "\n")


if __name__ == "__main__":
    main()
