"""The head of a shard, read without an HDF5 library.

Shards are HDF5 in its plainest form, so that their frames can be mapped into
memory. This module decodes the few structures that the writer uses (superblock 3,
object headers 2, compact links and attributes, contiguous datasets, global heaps)
and refuses everything else. Names and numbers are those of the "HDF5 File Format
Specification", version 3.

Why not h5py: it would be one more compiled dependency to read some kilobytes,
and libhdf5 must not be shared between a process and its forks.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from typing import Any, Iterator

import numpy as np

from .errors import DamagedError, FormatError

FORMAT = "melforge-shard"
VERSIONS = (1, 2)  # packed, padded

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DATASPACE, _DATATYPE, _LINK, _LAYOUT, _ATTRIBUTE, _CONTINUATION = 0x01, 0x03, 0x06, 0x08, 0x0C, 0x10
_NEAR = 1 << 16  # where all but the frames usually is
_MAX_HEADER, _MAX_BLOCKS = 1 << 20, 16  # bounds of an object header, whatever it claims

# Datatypes as object headers have them, the version in the first byte left out.
_FLOAT16 = bytes([1, 0x20, 15, 0, 2, 0, 0, 0, 0, 0, 16, 0, 10, 5, 0, 10, 15, 0, 0, 0])
_UINT64 = bytes([0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0])
_INT64 = bytes([0, 8, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0])
_TEXT = bytes([9, 1, 1, 0, 16, 0, 0, 0])

_Messages = list  # of (type, body)


@dataclass(frozen=True)
class Head:
    """All of a shard but its frames."""

    config: dict[str, Any]  # the mel configuration
    offsets: np.ndarray  # int64 [clips + 1]: clip i has the frames offsets[i] to offsets[i+1] - 1
    padded: int  # the frames that each clip is padded to; 0 where clips are packed
    pad: np.ndarray  # float16 [clips]
    keys: tuple[str, ...]  # empty unless asked for: the manifest has them too
    clips: int
    frames: int  # the real ones of all clips
    n_mels: int
    mel_offset: int  # where the values start in the file; 0 where there are none

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values in the file."""
        return (self.clips, self.n_mels, self.padded) if self.padded else (self.frames, self.n_mels)


def read_head(path: str | os.PathLike[str], keys: bool = False) -> Head:
    """Reads and checks the head of the shard at path; its keys only if they are wanted."""
    try:
        with open(path, "rb") as f:
            if hasattr(os, "posix_fadvise"):  # or the kernel takes this for the start of a whole file
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                os.posix_fadvise(f.fileno(), 0, _NEAR, os.POSIX_FADV_WILLNEED)
            return _Shard(f.fileno(), os.fstat(f.fileno()).st_size).head(keys)
    except OSError as err:
        raise DamagedError(f"shard {path}: {err.strerror or err}") from err
    except (DamagedError, FormatError) as err:
        raise type(err)(f"shard {path}: {err}") from None
    except (struct.error, UnicodeDecodeError, json.JSONDecodeError, IndexError) as err:
        raise DamagedError(f"shard {path}: damaged: {err}") from err


class _Shard:
    """An open shard. No claim in the file makes it read more than the file has."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self._size = fd, size
        self._heaps: dict[int, dict[int, bytes]] = {}
        self._heap_bytes = 0

    def head(self, keys: bool) -> Head:
        root = self._object(self._root())
        # Other versions may differ in all that follows.
        form = self._text(self._attribute(root, "format", _TEXT))
        if form != FORMAT:
            raise FormatError(f"not a {FORMAT}: its format is {form!r}")
        (version,) = struct.unpack_from("<q", self._attribute(root, "version", _INT64))
        if version not in VERSIONS:
            raise FormatError(f"version {version} of the format is unknown to this package, which reads versions {VERSIONS}")
        layout = "packed" if version == 1 else self._text(self._attribute(root, "layout", _TEXT))
        if layout not in ("packed", "padded"):
            raise FormatError(f"its layout is {layout!r}, which this package does not know")
        config = json.loads(self._text(self._attribute(root, "mel", _TEXT)))

        links = dict(_links(root))
        (n_keys,), keys_at = self._dataset(links, "keys", _TEXT, 1)
        (n_pad,), pad_at = self._dataset(links, "pad", _FLOAT16, 1)
        if n_keys == 0 or n_pad != n_keys:
            raise DamagedError(f"damaged: {n_keys} keys, {n_pad} pad values")
        find = self._packed if layout == "packed" else self._padded
        offsets, n_mels, padded, mel_at = find(links, n_keys)
        refs = self._at(keys_at, 16 * n_keys) if keys else b""
        return Head(
            config=config,
            offsets=offsets,
            padded=padded,
            pad=np.frombuffer(self._at(pad_at, 2 * n_pad), "<f2"),
            keys=tuple(self._text(refs[i : i + 16]) for i in range(0, len(refs), 16)),
            clips=n_keys,
            frames=int(offsets[-1]),
            n_mels=n_mels,
            mel_offset=mel_at,
        )

    def _packed(self, links: dict[str, int], clips: int) -> tuple[np.ndarray, int, int, int]:
        """Offsets, mels, no padding, and where the values are."""
        (n,), at = self._dataset(links, "offsets", _UINT64, 1)
        offsets = np.frombuffer(self._at(at, 8 * n), "<i8")
        (frames, n_mels), mel_at = self._dataset(links, "mel", _FLOAT16, 2)
        if n != clips + 1:
            raise DamagedError(f"damaged: {clips} keys, {n} offsets")
        if offsets[0] != 0 or offsets[-1] != frames or (np.diff(offsets) < 0).any():
            raise DamagedError(f"damaged: its offsets do not rise from 0 to {frames}")
        return offsets, n_mels, 0, mel_at if frames else 0

    def _padded(self, links: dict[str, int], clips: int) -> tuple[np.ndarray, int, int, int]:
        """Offsets as a packed shard would have them, mels, the length of a padded clip, and where the values are."""
        (n,), at = self._dataset(links, "frames", _INT64, 1)
        frames = np.frombuffer(self._at(at, 8 * n), "<i8")
        (n_mel, n_mels, length), mel_at = self._dataset(links, "mel", _FLOAT16, 3)
        if n != clips or n_mel != clips or length == 0:
            raise DamagedError(f"damaged: {clips} keys, {n} frame counts, {n_mel} clips of {length} frames")
        if (frames < 0).any() or (frames > length).any():
            raise DamagedError(f"damaged: a clip of less than 0 or more than {length} frames")
        return np.concatenate([[0], np.cumsum(frames)]), n_mels, length, mel_at

    def _at(self, offset: int, size: int) -> bytes:
        if offset + size > self._size:
            raise DamagedError(f"damaged: {size} bytes at {offset} of a file of {self._size}")
        data = os.pread(self._fd, size, offset)
        if len(data) != size:
            raise DamagedError(f"truncated while it was read, at {offset + len(data)}")
        return data

    def _checked(self, offset: int, size: int) -> bytes:
        """Reads metadata whose last four bytes are their checksum, without it."""
        if not 4 <= size <= _MAX_HEADER:
            raise DamagedError(f"damaged: metadata of {size} bytes at {offset}")
        data = self._at(offset, size)
        if lookup3(data[:-4]) != int.from_bytes(data[-4:], "little"):
            raise DamagedError(f"damaged: wrong checksum of the metadata at {offset}")
        return data[:-4]

    def _root(self) -> int:
        """Reads the superblock and returns the address of the root group."""
        if self._size < 48 or not (start := self._at(0, 9)).startswith(_SIGNATURE):
            raise DamagedError("not an HDF5 file")
        if start[8] != 3:
            raise FormatError(f"an HDF5 file with superblock version {start[8]}, want 3: not as melforge wrote it")
        offsets, lengths, flags, base, _, end, root = struct.unpack("<BBBQQQQ", self._checked(0, 48)[9:])
        if offsets != 8 or lengths != 8 or base != 0:
            raise FormatError("an HDF5 file with unusual addresses: not as melforge wrote it")
        if flags:
            raise DamagedError("still open for writing, or its writer died")
        if end != self._size:
            raise DamagedError(f"truncated or damaged: it has {self._size} bytes, want {end}")
        return root

    def _object(self, addr: int) -> _Messages:
        """Reads the messages of the object header at addr."""
        start = self._at(addr, 6)
        if start[:5] != b"OHDR\x02":
            raise DamagedError(f"damaged: no object header at {addr}")
        flags = start[5]
        prefix = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)  # times, attribute limits
        width = 1 << (flags & 3)
        size = int.from_bytes(self._at(addr + prefix, width), "little")
        prefix += width
        blocks = [self._checked(addr, prefix + size + 4)[prefix:]]
        head = 6 if flags & 0x04 else 4  # with or without creation order
        messages: _Messages = []
        for block in blocks:  # grows while it is walked
            at = 0
            while at + head <= len(block):
                kind, length = struct.unpack_from("<BH", block, at)
                body = block[at + head : at + head + length]
                if len(body) != length:
                    raise DamagedError("damaged: a message reaches beyond its end")
                at += head + length
                if kind != _CONTINUATION:
                    messages.append((kind, body))
                    continue
                if len(blocks) == _MAX_BLOCKS:
                    raise DamagedError("damaged: an object header without end")
                blocks.append(self._continuation(*struct.unpack_from("<QQ", body)))
        return messages

    def _continuation(self, addr: int, size: int) -> bytes:
        data = self._checked(addr, size)
        if not data.startswith(b"OCHK"):
            raise DamagedError(f"damaged: no continuation at {addr}")
        return data[4:]

    def _attribute(self, messages: _Messages, name: str, kind: bytes) -> bytes:
        """The value of a scalar attribute."""
        for message, body in messages:
            if message != _ATTRIBUTE:
                continue
            version, _, name_size, type_size, space_size, _ = struct.unpack_from("<BBHHHB", body)
            if version != 3:
                raise FormatError(f"an attribute of version {version}, want 3")
            at = 9 + name_size
            if body[9:at].rstrip(b"\0") != name.encode():
                continue
            value = body[at + type_size + space_size :]
            if not _is(kind, body[at:]) or body[at + type_size + 1] != 0:
                raise FormatError(f"the attribute {name!r} has another type")
            return value
        raise FormatError(f"not a {FORMAT}: no attribute {name!r}")

    def _dataset(self, links: dict[str, int], name: str, kind: bytes, rank: int) -> tuple[tuple[int, ...], int]:
        """The shape and address of a contiguous dataset."""
        if name not in links:
            raise FormatError(f"no dataset {name!r}")
        found = dict(self._object(links[name]))
        if not {_DATASPACE, _DATATYPE, _LAYOUT} <= found.keys():
            raise DamagedError(f"no dataset at {links[name]}")
        space, layout = found[_DATASPACE], found[_LAYOUT]
        if space[0] != 2 or space[1] != rank or not _is(kind, found[_DATATYPE]):
            raise FormatError(f"dataset {name!r}: another type or shape than the format has")
        dims = struct.unpack_from(f"<{rank}Q", space, 4)
        version, klass, addr, size = struct.unpack_from("<BBQQ", layout)
        if version not in (3, 4) or klass != 1:
            raise FormatError(f"dataset {name!r}: not contiguous")
        want = kind[4]
        for d in dims:
            want *= d
        if size != want or (size and addr + size > self._size):
            raise DamagedError(f"dataset {name!r}: damaged: {size} bytes at {addr} for a shape of {dims}")
        return dims, addr

    def _text(self, ref: bytes) -> str:
        """Resolves a reference to variable-length text."""
        size, addr, index = struct.unpack_from("<IQI", ref)
        text = self._heap(addr).get(index)
        if text is None or len(text) != size:
            raise DamagedError(f"damaged: no text of {size} bytes at {index} of the heap at {addr}")
        return text.decode()

    def _heap(self, addr: int) -> dict[int, bytes]:
        """Reads the global heap collection at addr. No checksum covers it."""
        if addr in self._heaps:
            return self._heaps[addr]
        start = self._at(addr, 16)
        (size,) = struct.unpack_from("<Q", start, 8)
        self._heap_bytes += size
        # Heaps do not overlap; a damaged file could name one a thousand times.
        if start[:5] != b"GCOL\x01" or size < 16 or self._heap_bytes > self._size:
            raise DamagedError(f"damaged: no heap at {addr}")
        data, at, heap = self._at(addr, size), 16, {}
        while at + 16 <= size:
            index, length = struct.unpack_from("<H6xQ", data, at)
            if index == 0:  # the free space at the end
                break
            at += 16
            heap[index] = data[at : at + length]
            at += (length + 7) & ~7  # objects start at multiples of 8
        self._heaps[addr] = heap
        return heap


def _is(kind: bytes, encoded: bytes) -> bool:
    return len(encoded) >= len(kind) and encoded[0] & 0x0F == kind[0] and encoded[1 : len(kind)] == kind[1:]


def _links(messages: _Messages) -> Iterator[tuple[str, int]]:
    """The names and addresses of a group's hard links."""
    for kind, body in messages:
        if kind != _LINK:
            continue
        if body[0] != 1:
            raise FormatError(f"a link of version {body[0]}, want 1")
        flags, at, hard = body[1], 2, True
        if flags & 0x08:
            hard, at = body[at] == 0, at + 1
        at += 8 * bool(flags & 0x04) + bool(flags & 0x10)  # creation order, character set
        width = 1 << (flags & 3)
        size = int.from_bytes(body[at : at + width], "little")
        at += width
        if hard:
            yield body[at : at + size].decode(), struct.unpack_from("<Q", body, at + size)[0]


def lookup3(data: bytes) -> int:
    """Bob Jenkins's hash of that name with the initial value 0: HDF5's checksum of its metadata."""
    mask = 0xFFFFFFFF

    def rot(x: int, k: int) -> int:
        return ((x << k) | (x >> (32 - k))) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    if not data:
        return c
    whole = (len(data) - 1) // 12 * 12
    words = struct.unpack(f"<{whole // 4 + 3}I", data.ljust(whole + 12, b"\0"))
    for i in range(0, len(words), 3):
        a, b, c = (a + words[i]) & mask, (b + words[i + 1]) & mask, (c + words[i + 2]) & mask
        if i == len(words) - 3:
            break
        for k in (4, 6, 8, 16, 19, 4):
            a, c = ((a - c) & mask) ^ rot(c, k), (c + b) & mask
            a, b, c = b, c, a  # the next round does the same to the next register
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rot(b, k)) & mask
        a, b, c = b, c, a
    return b
