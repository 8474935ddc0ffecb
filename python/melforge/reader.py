"""Random access to the clips of a dataset."""

from __future__ import annotations

import builtins
import json
import math
import mmap
import os
import warnings
from collections import OrderedDict
from typing import Any, Iterable, Iterator, Optional, Union

import numpy as np

from .checksum import crc32c_file
from .errors import DamagedError, MelforgeError
from .hdf5 import Head, read_head
from .index import read_dataset, read_index

Path = Union[str, "os.PathLike[str]"]


def open(path: Path, **options: Any) -> Reader:
    """Opens the dataset in the folder path. The options are those of Reader."""
    return Reader(path, **options)


class Item:
    """One entry of a dataset.

    ``mel`` is a view of the mapped shard: float16 [frames, n_mels], read-only, and
    without the padding; of a padded shard it is a transposed view. Everything else
    of the manifest is in ``entry``.
    """

    __slots__ = ("index", "mel", "pad", "_reader", "_entry")

    def __init__(self, reader: Reader, index: int, mel: np.ndarray, pad: np.float16) -> None:
        self.index, self.mel, self.pad = index, mel, pad
        self._reader = reader
        self._entry: Optional[dict[str, Any]] = None

    @property
    def entry(self) -> dict[str, Any]:
        """The line of the manifest; decoded when it is first asked for."""
        if self._entry is None:
            self._entry = self._reader.entry(self.index)
        return self._entry

    @property
    def id(self) -> str:
        return self.entry["id"]

    @property
    def key(self) -> str:
        return self.entry["key"]

    @property
    def text(self) -> str:
        return self.entry["text"]

    @property
    def lang(self) -> Optional[str]:
        return self.entry.get("lang")

    @property
    def voice(self) -> Optional[str]:
        return self.entry.get("voice")

    @property
    def duration(self) -> float:
        return self.entry["duration"]

    @property
    def frames(self) -> int:
        return len(self.mel)

    def padded(self, frames: Optional[int] = None, dtype: Any = np.float32) -> np.ndarray:
        """The array [n_mels, frames] that Hugging Face's feature extractor gives."""
        return pad_mel(self.mel, self.pad, frames or self._reader.padded_frames, dtype)

    def __repr__(self) -> str:
        return f"<melforge.Item {self.index} {self.id!r} {self.frames} frames>"


def pad_mel(mel: np.ndarray, pad: np.float16, frames: Optional[int], dtype: Any = np.float32,
            out: Optional[np.ndarray] = None) -> np.ndarray:
    """Transposes [frames, n_mels] and fills it up with the pad value, into out if that is given."""
    if frames is None:
        raise MelforgeError("clips of this dataset are not padded to a fixed length: say how many frames you want")
    n, n_mels = mel.shape
    if n > frames:
        raise MelforgeError(f"a clip of {n} frames does not fit in {frames}")
    if out is None:
        out = np.empty((n_mels, frames), dtype)
    out[:, n:] = pad
    out[:, :n] = mel.T
    return out


class Reader:
    """The clips of a dataset by index, id or key.

    verify    also compare the checksum of each shard when it is first opened.
    on_damage "raise": a damaged shard is an error when it is first needed.
              "skip": all shards are looked at now, and the entries of damaged ones
              are left out, with a warning that names them. Now, and not later,
              because all workers and ranks must agree on what there is.
    max_open  so many shards stay mapped; each takes a file descriptor.

    A reader can be pickled and used after a fork: each process maps the shards
    for itself, and all see the same entries.
    """

    def __init__(self, path: Path, *, verify: bool = False, on_damage: str = "raise", max_open: int = 256) -> None:
        if on_damage not in ("raise", "skip"):
            raise ValueError(f"on_damage={on_damage!r}: want 'raise' or 'skip'")
        self.path = os.path.abspath(os.fspath(path))
        self._verify, self._on_damage, self._max_open = verify, on_damage, max_open
        self._sound: set[tuple[str, str]] = set()  # shards whose checksum was compared
        self._forget()
        self._load(read_dataset(self.path))

    def _load(self, dataset: dict[str, Any], manifest: Optional[dict[str, Any]] = None) -> None:
        """Takes over what dataset names, or an older manifest of it."""
        manifest = manifest or dataset["manifest"]
        index = read_index(self.path, manifest, dataset["shards"])
        if len(index) == 0 and index.without_mel:
            raise MelforgeError(f"{self.path}: has wavs but no mels yet: run melforge mel")
        self._dataset, self._manifest, self._index = dataset, manifest, index
        self._shards: list[dict[str, Any]] = dataset["shards"]
        self._forget()
        self.damaged: dict[str, str] = {}
        if self._on_damage == "skip":
            self._skip_damaged()

    def _forget(self) -> None:
        """Drops what belongs to one process or one version. Views keep their maps alive."""
        self._heads: dict[int, Head] = {}
        self._maps: OrderedDict[int, tuple[Any, np.ndarray]] = OrderedDict()
        self._ids: Optional[dict[str, int]] = None
        self._keys: Optional[dict[str, int]] = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_heads": {}, "_maps": OrderedDict(), "_ids": None, "_keys": None}

    def _skip_damaged(self) -> None:
        for number, shard in enumerate(self._shards):
            try:
                self._head(number)
            except MelforgeError as err:
                self.damaged[shard["file"]] = str(err)
                warnings.warn(f"left out: {err}", stacklevel=4)
        if self.damaged:
            whole = np.array([s["file"] not in self.damaged for s in self._shards])
            self._index = self._index.select(whole[self._index.shard])

    def refresh(self) -> bool:
        """Takes up what was added to the dataset since; reports whether there was anything."""
        dataset = read_dataset(self.path)
        if dataset["manifest"] == self._manifest and dataset["shards"] == self._shards:
            return False
        if dataset.get("mel") != self._dataset.get("mel"):
            raise MelforgeError(f"{self.path}: its mel configuration has changed: open it anew")
        self._load(dataset)
        return True

    def pin(self, manifest: dict[str, Any]) -> None:
        """Goes back to an older manifest of this dataset, which is there until melforge gc removes it."""
        if manifest == self._manifest:
            return
        try:
            self._load(read_dataset(self.path), manifest)
        except DamagedError as err:
            raise MelforgeError(f"{self.path}: cannot go back to the version of {manifest.get('file')!r}: {err}") from err

    @property
    def manifest(self) -> dict[str, Any]:
        """dataset.json's record of the manifest: the same record means the same entries."""
        return dict(self._manifest)

    @property
    def mel(self) -> dict[str, Any]:
        """The mel configuration."""
        return self._dataset["mel"]

    @property
    def n_mels(self) -> int:
        return self.mel["n_mels"]

    @property
    def padded_frames(self) -> Optional[int]:
        """The frames of a padded clip (3000 for Whisper), None where clips are not padded."""
        mel = self.mel
        return mel.get("chunk_seconds", 0) * mel["rate"] // mel["hop"] or None

    @property
    def frames(self) -> np.ndarray:
        """The stored frames of every entry."""
        return self._index.frames

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Item]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, which: Union[int, str]) -> Item:
        """The entry with this index, this id, or else this key."""
        i = self.find(which) if isinstance(which, str) else self._position(which)
        mel, pad = self._clip(i)
        return Item(self, i, mel, pad)

    def features(self, which: Union[int, str], dtype: Any = np.float32) -> np.ndarray:
        """The array [n_mels, 3000] that Hugging Face's WhisperFeatureExtractor gives."""
        return self[which].padded(dtype=dtype)

    def entry(self, i: int) -> dict[str, Any]:
        """The manifest's line of entry i; the mel is not touched."""
        return self._index.entry(self._position(i))

    def find(self, name: str) -> int:
        """The index of the entry with this id or, if there is none, the first with this key."""
        if self._ids is None or self._keys is None:
            self._ids, self._keys = {}, {}
            for i in range(len(self)):
                entry = self._index.entry(i)
                self._ids.setdefault(entry["id"], i)
                self._keys.setdefault(entry["key"], i)
        for names in (self._ids, self._keys):
            if name in names:
                return names[name]
        raise KeyError(f"{self.path}: no id or key {name!r}")

    def will_need(self, indices: Iterable[int]) -> int:
        """Has the kernel read these clips ahead; returns their bytes."""
        total = 0
        for i in indices:
            mapped, _, head, row, first, last = self._locate(i)
            width = 2 * head.n_mels
            if head.padded:  # each mel's frames are followed by its padding
                first, last = row * head.padded, (row + 1) * head.padded
            first, size = head.mel_offset + first * width, (last - first) * width
            total += size
            if size and hasattr(mapped, "madvise"):
                start = first - first % mmap.PAGESIZE
                mapped.madvise(mmap.MADV_WILLNEED, start, first + size - start)
        return total

    def _position(self, i: int) -> int:
        n = len(self._index)
        if not -n <= i < n:
            raise IndexError(f"{self.path}: entry {i} of {n}")
        return int(i) % n

    def _clip(self, i: int) -> tuple[np.ndarray, np.float16]:
        _, values, head, row, first, last = self._locate(i)
        mel = values[row, :, : last - first].T if head.padded else values[first:last]
        return mel, head.pad[row]

    def _locate(self, i: int) -> tuple[Any, np.ndarray, Head, int, int, int]:
        """Maps the shard of entry i and finds the entry's frames in it."""
        index = self._index
        number, row = index.shard.item(i), index.row.item(i)
        mapped, values = self._map(number)
        head = self._heads[number]
        if row >= head.clips:
            raise DamagedError(f"shard {self._shard_path(number)}: row {row} of the manifest is not there")
        first, last = head.offsets.item(row), head.offsets.item(row + 1)
        if last - first != index.frames.item(i):
            raise DamagedError(f"shard {self._shard_path(number)}: row {row} has not the frames of the manifest")
        return mapped, values, head, row, first, last

    def _map(self, number: int) -> tuple[Any, np.ndarray]:
        found = self._maps.get(number)
        if found is not None:
            self._maps.move_to_end(number)
            return found
        head = self._head(number)
        path = self._shard_path(number)
        with builtins.open(path, "rb") as f:
            mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        values = np.frombuffer(mapped, "<f2", math.prod(head.shape), head.mel_offset)
        self._maps[number] = mapped, values.reshape(head.shape)
        if len(self._maps) > self._max_open:
            self._maps.popitem(last=False)
        return self._maps[number]

    def _shard_path(self, number: int) -> str:
        return os.path.join(self.path, self._shards[number]["file"])

    def _head(self, number: int) -> Head:
        """The head of a shard, once it agrees with dataset.json."""
        if number in self._heads:
            return self._heads[number]
        path, record = self._shard_path(number), self._shards[number]
        try:
            size = os.stat(path).st_size
        except OSError as err:
            raise DamagedError(f"shard {path}: {err.strerror or err}") from err
        # A map of a file that is too short would kill the process when it is read.
        if size != record["bytes"]:
            raise DamagedError(f"shard {path}: {size} bytes, want {record['bytes']}: truncated or replaced")
        mark = (record["file"], record["crc32c"])
        if self._verify and mark not in self._sound:
            if (crc := crc32c_file(path)) != record["crc32c"]:
                raise DamagedError(f"shard {path}: crc32c {crc}, want {record['crc32c']}: damaged or replaced")
            self._sound.add(mark)
        head = read_head(path)
        _compare(path, self._shards[number], head)
        self._heads[number] = head
        return head

    def __repr__(self) -> str:
        mel = self._dataset.get("mel", {}).get("name")
        return f"<melforge.Reader {self.path!r}: {len(self)} entries, {len(self._shards)} shards, mel {json.dumps(mel)}>"


def _compare(path: str, record: dict[str, Any], head: Head) -> None:
    got = {"clips": head.clips, "frames": head.frames, "n_mels": head.n_mels, "mel_offset": head.mel_offset,
           "padded_frames": head.padded}
    for name, value in got.items():
        want = record.get(name, 0)  # padded_frames is absent where clips are packed
        if value != want:
            raise DamagedError(f"shard {path}: {name} is {value}, but {want} in dataset.json")
