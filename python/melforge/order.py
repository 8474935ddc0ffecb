"""In which order, and by whom, the entries of an epoch are read.

Everything here is a function of numbers: seed, epoch, lengths, ranks, workers.
So every process computes the same order without talking to the others, and a
position in it is all there is to remember for going on in the middle.

The random numbers are splitmix64's, written out, because numpy does not promise
that its generators give the same numbers in its next version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

import numpy as np

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(*words: int) -> int:
    """Hashes whole numbers to 64 bits."""
    h = 0
    for word in words:
        h = (h + _GOLDEN + (word & _MASK)) & _MASK
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & _MASK
        h ^= h >> 31
    return h


def _stream(start: int, n: int) -> np.ndarray:
    """The first n numbers of splitmix64 from start: all different, as it is a bijection of a counter."""
    h = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(start)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def shuffled(n: int, *seed: int) -> np.ndarray:
    """A permutation of range(n) that depends on n and seed alone."""
    return np.argsort(_stream(mix(*seed), n), kind="stable")


def epoch_order(frames: np.ndarray, *, seed: int, epoch: int, shuffle: bool, batch_size: int, bucket: int) -> np.ndarray:
    """The order of all entries in an epoch.

    With bucket, entries of similar length share a batch: each stretch of bucket
    batches is sorted by length and cut into batches, whose order is drawn again
    if shuffle is set. What does not fill a batch comes last.
    """
    n = len(frames)
    order = shuffled(n, seed, epoch, 0) if shuffle else np.arange(n)
    if bucket <= 1 or n < batch_size:
        return order
    whole = n // batch_size * batch_size
    order, rest = order[:whole], order[whole:]
    window = bucket * batch_size
    parts = []
    for start in range(0, whole, window):
        part = order[start : start + window]
        part = part[np.argsort(frames[part], kind="stable")].reshape(-1, batch_size)
        if shuffle:
            part = part[shuffled(len(part), seed, epoch, 1 + start)]
        parts.append(part.ravel())
    return np.concatenate([*parts, rest])


@dataclass(frozen=True)
class Plan:
    """Who reads what from a position of an order on.

    A step takes batch_size entries for each rank. Ranks move in lockstep, so that
    a position, the entries that all ranks have taken together, describes them
    all, and the rest can be divided anew among any number of ranks.

    tail says what becomes of the last entries, too few for a whole step: "keep"
    divides them evenly (if there are fewer than ranks, some get none), "drop"
    leaves them out, "repeat" fills up from the start of the order.
    """

    order: np.ndarray
    batch_size: int
    world_size: int = 1
    tail: str = "keep"
    start: int = 0

    @property
    def _step(self) -> int:
        return self.batch_size * self.world_size

    def steps(self) -> int:
        """The number of steps from start on."""
        left = max(len(self.order) - self.start, 0)
        return left // self._step if self.tail == "drop" else -(-left // self._step)

    def position(self, steps: int) -> int:
        """The position after so many steps."""
        return min(self.start + steps * self._step, len(self.order))

    def batch(self, step: int, rank: int) -> np.ndarray:
        """What rank reads in a step."""
        first = self.start + step * self._step
        entries = self.order[first : first + self._step]
        if len(entries) < self._step and self.tail == "repeat":
            entries = np.concatenate([entries, np.resize(self.order, self._step - len(entries))])
        return entries[_share(len(entries), rank, self.world_size)]

    def samples(self, rank: int) -> int:
        """The number of entries that rank reads from start on."""
        whole, rest = divmod(max(len(self.order) - self.start, 0), self._step)
        if self.tail == "keep":
            share = _share(rest, rank, self.world_size)
            return whole * self.batch_size + share.stop - share.start
        return (whole + (rest > 0 and self.tail == "repeat")) * self.batch_size

    def steps_of(self, worker: int, workers: int) -> Iterator[int]:
        """The steps that a loader's worker prepares.

        A loader takes one batch from each of its workers in turn. So its batches
        come in the same order whatever the number of workers.
        """
        return iter(range(worker, self.steps(), workers))


def _share(n: int, rank: int, ranks: int) -> slice:
    """The even share of n entries for a rank; the first ranks get what is left over."""
    return slice(-(-n * rank // ranks), -(-n * (rank + 1) // ranks))
