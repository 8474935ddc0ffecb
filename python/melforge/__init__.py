"""Reads Melforge datasets: log-mel spectrograms as 16-bit floats, with their texts.

The reader needs numpy and nothing else. What needs PyTorch is imported when it
is first used, so that ``import melforge`` stays fast and works without it.
"""

from __future__ import annotations

from typing import Any

from .augment import SpecAugment
from .collate import Collator
from .dataset import Dataset
from .errors import DamagedError, FormatError, MelforgeError
from .reader import Item, Reader, open

__version__ = "0.1.0"

__all__ = [
    "Collator",
    "DamagedError",
    "Dataset",
    "FormatError",
    "Item",
    "IterableDataset",
    "Loader",
    "MelforgeError",
    "Reader",
    "SpecAugment",
    "open",
]


def __getattr__(name: str) -> Any:
    if name in ("IterableDataset", "Loader"):
        from . import stream

        return getattr(stream, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
