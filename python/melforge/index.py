"""dataset.json and the manifest: what is in a dataset.

The manifest of ten million clips would be ten gigabytes of Python objects, and
each worker of a loader would have its own. So the index keeps where each line
starts and where its mel is, twenty bytes an entry, in numpy arrays; the line
itself is decoded when somebody asks for it.
"""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from .checksum import crc32c
from .errors import DamagedError, FormatError, MelforgeError

FORMAT = "melforge-dataset"
VERSIONS = (1, 2)  # 2 can name padded shards


def read_dataset(folder: str) -> dict[str, Any]:
    """Reads dataset.json and refuses formats and versions that it does not know."""
    path = os.path.join(folder, "dataset.json")
    try:
        with open(path, encoding="utf-8") as f:
            dataset = json.load(f)
    except FileNotFoundError:
        raise MelforgeError(f"{path}: not there: {folder!r} is no dataset, or its first run did not end") from None
    except ValueError as err:
        raise DamagedError(f"{path}: {err}") from err
    form = dataset.get("format") if isinstance(dataset, dict) else None
    if form != FORMAT:
        raise FormatError(f"{path}: not a {FORMAT}: its format is {form!r}")
    if dataset.get("version") not in VERSIONS:
        raise FormatError(
            f"{path}: version {dataset.get('version')!r} of the format is unknown to this package, "
            f"which reads versions {VERSIONS}: update it"
        )
    for name in ("manifest", "shards"):
        if name not in dataset:
            raise DamagedError(f"{path}: no {name!r}")
    return dataset


@dataclass
class Index:
    """The entries of one manifest that have a mel, in its order."""

    path: str  # of the manifest
    starts: np.ndarray  # int64: where each entry's line starts
    shard: np.ndarray  # int32: number of its shard in dataset.json
    row: np.ndarray  # int32: its place in the shard
    frames: np.ndarray  # int32: its stored frames
    without_mel: int = 0
    _lines: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.starts)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lines": None}  # maps belong to one process

    def entry(self, i: int) -> dict[str, Any]:
        """The manifest's line of entry i."""
        if self._lines is None:
            self._lines = _map(self.path)
        start = self.starts.item(i)
        end = self._lines.find(b"\n", start)
        return json.loads(self._lines[start : end if end >= 0 else None].decode())

    def select(self, keep: np.ndarray) -> Index:
        """The index of those entries only for which keep is true."""
        return Index(self.path, self.starts[keep], self.shard[keep], self.row[keep], self.frames[keep], self.without_mel)


def read_index(folder: str, manifest: dict[str, Any], shards: list[dict[str, Any]]) -> Index:
    """Reads the manifest that a record of dataset.json names, and checks it against that."""
    path = os.path.join(folder, manifest["file"])
    lines = _map(path)
    if len(lines) != manifest["bytes"] or _crc(lines) != manifest["crc32c"]:
        raise DamagedError(f"manifest {path}: not what dataset.json recorded: damaged or replaced")
    numbers = {shard["file"]: i for i, shard in enumerate(shards)}
    rows: list[tuple[int, int, int, int]] = []
    start = without = 0
    while start < len(lines):
        end = lines.find(b"\n", start) + 1 or len(lines)
        entry = _decode(path, lines[start:end], start)
        shard: Optional[str] = entry.get("shard")
        if shard is None:
            without += 1
        elif shard not in numbers:
            raise DamagedError(f"manifest {path}: {entry.get('id')!r} is in {shard!r}, which dataset.json does not name")
        else:
            rows.append((start, numbers[shard], entry["row"], entry["frames"]))
        start = end
    table = np.array(rows, np.int64).reshape(-1, 4)
    shard_of, row, frames = table[:, 1:].T.astype(np.int32)
    return Index(path, table[:, 0].copy(), shard_of.copy(), row.copy(), frames.copy(), without, lines)


def _decode(path: str, line: bytes, at: int) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError as err:
        raise DamagedError(f"manifest {path}: the line at byte {at}: {err}") from err


def _map(path: str) -> Any:
    try:
        with open(path, "rb") as f:
            if os.fstat(f.fileno()).st_size == 0:  # cannot be mapped
                return b""
            return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as err:
        raise DamagedError(f"manifest {path}: {err.strerror or err}") from err


def _crc(data: Any) -> str:
    crc, block = 0, 1 << 22
    for at in range(0, len(data), block):
        crc = crc32c(data[at : at + block], crc)
    return f"{crc:08x}"
