"""Batches of random clips of about three seconds: this package in a DataLoader against plain h5py in one.

    python bench/loader.py DATASET [--clips N] [--rounds N]

Needs torch and h5py. Both sides read the same clips in the same order through the same DataLoader, in turns, after a
round that warms the page cache and compares what they give. "h5py" is the dataset that people write: files opened
when they are first needed and kept open, and for each clip offsets, pad value and frames read as shards/FORMAT.md shows.

    clips   the float16 frames of each clip with its text, as a list
    padded  float32 [batch, 80, 3000], what Whisper takes; "reused" with Collator(reuse=2)

Ratios are medians over the rounds. The bar is that of the clips, loaded in this process. With workers, who hand each batch
through shared memory, the first batch is not counted: it waits for their start.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import melforge  # noqa: E402

BAR = 2.0


class Plain:
    """A dataset around h5py, reading as the format's description does."""

    def __init__(self, folder: Path, padded: bool) -> None:
        with open(folder / "dataset.json") as f:
            dataset = json.load(f)
        with open(folder / dataset["manifest"]["file"]) as f:
            self.entries = [json.loads(line) for line in f]
        self.folder, self.padded = folder, padded
        self.files: dict[str, h5py.File] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, i: int) -> Any:
        e = self.entries[i]
        if e["shard"] not in self.files:
            self.files[e["shard"]] = h5py.File(self.folder / e["shard"])
        f, row = self.files[e["shard"]], e["row"]
        first, last = f["offsets"][row : row + 2]
        mel = f["mel"][first:last]
        if not self.padded:
            return mel, e["text"]
        out = np.full((mel.shape[1], 3000), f["pad"][row], np.float32)
        out[:, : len(mel)] = mel.T
        return out


class Clips:
    """A collate function: every byte copied out, with the text."""

    def __call__(self, samples: list[dict[str, Any]]) -> list[Any]:
        return [(s["mel"].copy(), s["text"]) for s in samples]


class Padded:
    """A collate function: the features of this package's own."""

    def __init__(self, reuse: int) -> None:
        self.collator = melforge.Collator(None, 0, reuse=reuse)

    def __call__(self, samples: list[dict[str, Any]]) -> torch.Tensor:
        return torch.from_numpy(self.collator.features(samples))


def rate(loader: DataLoader) -> float:
    """Clips a second from the second batch on."""
    batches = iter(loader)
    next(batches)
    start, clips = time.perf_counter(), 0
    for batch in batches:
        clips += len(batch)
    return clips / (time.perf_counter() - start)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    return all(np.array_equal(x[0], y[0]) and x[1] == y[1] for x, y in zip(a, b))


def compare(name: str, loaders: list[DataLoader], rounds: int) -> float:
    """Prints and returns the ratio of the first loader's rate to the last one's."""
    for batches in zip(*loaders):
        if not all(same(batches[0], other) for other in batches[1:]):
            raise SystemExit(f"{name}: they do not read the same")
    rates: list[list[float]] = [[] for _ in loaders]
    for k in range(rounds):
        for i in list(range(len(loaders)))[:: 1 if k % 2 else -1]:
            rates[i].append(rate(loaders[i]))
    ratio = statistics.median(a / b for a, b in zip(rates[0], rates[-1]))
    ours, plain = statistics.median(rates[0]), statistics.median(rates[-1])
    sys.stdout.write(f"{name:26} melforge {ours:7.0f} clips/s   h5py {plain:7.0f} clips/s   ratio {ratio:5.2f}\n")
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--clips", type=int, default=960)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2, help="also with so many workers (default: 2; 0: do not)")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()

    data = melforge.Dataset(args.dataset)
    close = np.flatnonzero(np.abs(data.reader.frames - 300) < 150)
    if len(close) == 0:
        raise SystemExit(f"{args.dataset} has no clips of about three seconds")
    order = np.random.default_rng(0).choice(close, args.clips).tolist()

    def loader(source: Any, collate: Any, workers: int) -> DataLoader:
        return DataLoader(source, batch_size=args.batch_size, sampler=order, num_workers=workers, collate_fn=collate)

    sys.stdout.write(f"{len(data)} entries, {len(close)} of about 3 s; {args.clips} reads, {args.rounds} rounds\n")
    ratio = 0.0
    for workers in sorted({0, args.workers}):
        clips, padded = Plain(args.dataset, False), Plain(args.dataset, True)
        sides = [loader(data, Clips(), workers), loader(clips, list, workers)]
        got = compare(f"clips, {workers} workers", sides, args.rounds)
        ratio = ratio or got
        compare(f"padded, {workers} workers", [loader(data, Padded(0), workers), loader(padded, None, workers)], args.rounds)
        if workers == 0:
            compare("padded, reused, 0 workers", [loader(data, Padded(2), 0), loader(padded, None, 0)], args.rounds)
    sys.stdout.write(f"clips in this process: {ratio:.2f} times a plain h5py DataLoader, want {BAR:g}: {'yes' if ratio >= BAR else 'NO'}\n")


if __name__ == "__main__":
    main()
