"""Datasets for the tests: the committed one, and others made of its clips."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any

from melforge.checksum import crc32c

ROOT = Path(__file__).resolve().parent
TINY = ROOT / "data" / "tiny"  # made by the tool: see data/make
PADDED = ROOT / "data" / "padded"  # the same texts in padded shards, with smaller mels


def lines() -> list[dict[str, Any]]:
    """The manifest of the committed dataset."""
    with open(TINY / "manifest.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def write(folder: Path, entries: list[dict[str, Any]], **changes: Any) -> None:
    """Makes folder a dataset with these entries and TINY's shards, keeping manifests that are there."""
    data = "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries).encode()
    crc = f"{crc32c(data):08x}"
    name = f"index/manifest-{crc}{len(data):08x}.jsonl"
    (folder / "index").mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    with open(TINY / "dataset.json", encoding="utf-8") as f:
        dataset = json.load(f)
    dataset["manifest"] = {"file": name, "bytes": len(data), "crc32c": crc, "lines": len(entries)}
    dataset.update(changes)
    temporary = folder / ".tmp-dataset.json"
    temporary.write_text(json.dumps(dataset))
    os.replace(temporary, folder / "dataset.json")


def repeated(n: int, first: int = 0) -> list[dict[str, Any]]:
    """n entries over TINY's five clips: utterances may share a clip."""
    base = lines()
    return [{**base[i % len(base)], "id": f"e{i}"} for i in range(first, first + n)]


class FolderCase(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="melforge-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self) -> Path:
        """A copy of TINY that may be damaged."""
        path = self.folder / "tiny"
        shutil.copytree(TINY, path)
        return path

    def make(self, n: int) -> Path:
        """A dataset of n entries e0, e1, …"""
        path = self.folder / f"made-{n}"
        shutil.copytree(TINY / "shards", path / "shards", dirs_exist_ok=True)
        write(path, repeated(n))
        return path
