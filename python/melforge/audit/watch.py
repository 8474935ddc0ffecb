"""Runs a training script for some steps and measures what it waits for."""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, List, Optional, Sequence

import torch
from torch.utils.data._utils import worker
from torch.utils.data.dataloader import _BaseDataLoaderIter as Iterator

from .samples import Sampler, saved

worker_loop = worker._worker_loop  # before anybody puts another in its place
FOLDER = "MELFORGE_AUDIT_FOLDER"  # where the workers of a loader leave their samples
ROOT = str(Path(__file__).resolve().parents[__name__.count(".")])  # where workers that are spawned find this module


class Enough(BaseException):
    """Ends the script when enough steps are measured. No handler of errors should catch it."""


@dataclass(frozen=True)
class Step:
    """When a step's batch was asked for, when it came, and when the next was asked for."""

    asked: float
    came: float
    ended: float

    @property
    def waited(self) -> float:
        return self.came - self.asked

    @property
    def seconds(self) -> float:
        return self.ended - self.asked


@dataclass
class Measured:
    """What a run of the script has shown."""

    steps: List[Step] = field(default_factory=list)
    places: Counter = field(default_factory=Counter)  # of the waiting, by samples
    in_workers: bool = False  # whether the places are those of a loader's workers
    device: str = "cpu"
    enough: bool = False  # the script was ended, it did not end by itself

    @property
    def seconds(self) -> float:
        return sum(s.seconds for s in self.steps)

    @property
    def waited(self) -> float:
        return sum(s.waited for s in self.steps)

    @property
    def share(self) -> float:
        return self.waited / self.seconds if self.seconds else 0.0

    @property
    def faster(self) -> float:
        """How many times as fast it would be if no step waited."""
        return self.seconds / max(self.seconds - self.waited, 1e-9)


class Watch:
    """Times every batch that a torch DataLoader hands out in this process."""

    def __init__(self, steps: int, warmup: int):
        self.want, self.skip = steps, warmup
        self.depth, self.waiting, self.came = 0, False, None
        self.asked: Optional[float] = None
        self.measured = Measured()

    def run(self, script: Path, args: Sequence[str]) -> Measured:
        original, watch = Iterator.__next__, self

        def timed(iterator: Any) -> Any:
            return watch.next(original, iterator)

        with tempfile.TemporaryDirectory(prefix="melforge-audit-") as folder:
            os.environ[FOLDER] = folder
            Iterator.__next__, worker._worker_loop = timed, sampled_worker
            sampler = Sampler(threading.get_ident(), lambda: self.waiting)
            sampler.start()
            argv, path = sys.argv, list(sys.path)
            sys.argv, sys.path[0:1] = [str(script), *args], [str(script.resolve().parent)]
            sys.path.append(ROOT)
            try:
                runpy.run_path(str(script), run_name="__main__")
            except Enough:
                self.measured.enough = True
            finally:
                sampler.stop()
                Iterator.__next__, worker._worker_loop = original, worker_loop
                sys.argv, sys.path[:] = argv, path
                del os.environ[FOLDER]
            self.measured.places = sampler.places
            others = saved(Path(folder))
            if sum(others.values()) > sum(sampler.places.values()):
                self.measured.places, self.measured.in_workers = others, True
        if torch.cuda.is_initialized():
            self.measured.device = torch.cuda.get_device_name()
        return self.measured

    def next(self, original: Any, iterator: Any) -> Any:
        """The loader's next batch, with a look at the clock before and after."""
        if self.depth or threading.current_thread() is not threading.main_thread():
            return original(iterator)  # a loader within a loader
        self.settle()
        now = time.perf_counter()
        if self.came is not None:
            self.end(now)
        self.depth, self.waiting, self.asked = 1, True, now
        try:
            return original(iterator)
        except StopIteration:
            self.asked = None
            raise
        finally:
            self.depth, self.waiting = 0, False
            self.came = time.perf_counter() if self.asked is not None else None

    def end(self, now: float) -> None:
        if self.skip > 0:
            self.skip -= 1
            return
        self.measured.steps.append(Step(self.asked, self.came, now))
        if len(self.measured.steps) >= self.want:
            raise Enough

    def settle(self) -> None:
        """Waits for the GPU, or its work would be counted as waiting for data."""
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()


def sampled_worker(*args: Any, **kwargs: Any) -> Any:
    """A DataLoader's worker, with a sampler beside it."""
    sampler = Sampler(threading.get_ident(), folder=Path(os.environ[FOLDER]))
    sampler.start()
    try:
        return worker_loop(*args, **kwargs)
    finally:
        sampler.stop()
