"""Where a thread spends its time, by looking at its stack every few milliseconds."""

from __future__ import annotations

import json
import linecache
import os
import sys
import sysconfig
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Callable, Optional

from .kinds import kind_of

INTERVAL = 0.005  # seconds from one look to the next
HERE = str(Path(__file__).resolve().parent)
LIBRARIES = tuple({sysconfig.get_path(p) for p in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclass(frozen=True)
class Place:
    """A line of the user's, and what kind of work it does; of a library's where no line of the user's is on the stack."""

    file: str
    line: int
    function: str
    kind: str


def is_library(file: str) -> bool:
    return file.startswith(LIBRARIES) or file.startswith("<") or "site-packages" in file or "dist-packages" in file


def place_of(frame: Optional[FrameType]) -> Optional[Place]:
    """What a stack works at. None: it waits for a loader's other processes, or for work."""
    first, names = None, []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(HERE):
            break
        if code.co_filename.endswith(("multiprocessing/connection.py", "multiprocessing/queues.py")):
            return None
        first = first or frame
        names.append(f"{code.co_filename} {getattr(code, 'co_qualname', code.co_name)}")
        if not is_library(code.co_filename):
            return described(frame, names)
        frame = frame.f_back
    return described(first, names) if first else None


def described(frame: FrameType, names: list) -> Place:
    file, line = frame.f_code.co_filename, frame.f_lineno
    # What the user's own folders are called says nothing.
    names = [n if is_library(n) else n.rsplit(" ", 1)[-1] for n in names]
    kind = kind_of(" ".join(names) + " " + linecache.getline(file, line))
    return Place(file, line, frame.f_code.co_name, kind.name if kind else "other")


class Sampler:
    """Looks at a thread's stack while `wanted` says so."""

    def __init__(self, thread: int, wanted: Callable[[], bool] = lambda: True, folder: Optional[Path] = None):
        self.thread, self.wanted, self.folder = thread, wanted, folder
        self.places: Counter = Counter()
        self.over = threading.Event()
        self.runner = threading.Thread(target=self.run, name="melforge-audit", daemon=True)

    def start(self) -> None:
        self.runner.start()

    def stop(self) -> None:
        self.over.set()
        self.runner.join()

    def run(self) -> None:
        looks = 0
        while not self.over.wait(INTERVAL):
            if self.wanted():
                place = place_of(sys._current_frames().get(self.thread))
                if place:
                    self.places[place] += 1
            looks += 1
            if self.folder and looks % 50 == 0:  # a loader may kill its workers at any time
                self.save(self.folder)
        if self.folder:
            self.save(self.folder)

    def save(self, folder: Path) -> None:
        path = folder / f"{os.getpid()}.json"
        text = json.dumps([[p.file, p.line, p.function, p.kind, n] for p, n in self.places.items()])
        path.with_suffix(".tmp").write_text(text, encoding="utf-8")
        path.with_suffix(".tmp").replace(path)


def saved(folder: Path) -> Counter:
    """What the samplers of other processes have left."""
    all_places: Counter = Counter()
    for path in sorted(folder.glob("*.json")):
        for file, line, function, kind, n in json.loads(path.read_text(encoding="utf-8")):
            all_places[Place(file, line, function, kind)] += n
    return all_places
