"""The entries of an epoch as a stream, for many ranks and workers, that can go on in the middle."""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Callable, Iterator, Optional, Union

import numpy as np

from .augment import SpecAugment
from .dataset import Dataset, Sample
from .errors import MelforgeError
from .order import Plan, epoch_order
from .reader import Path, Reader
from .worker import current

try:
    from torch.utils.data import IterableDataset as _Base
except ImportError:  # one process can iterate without it
    _Base = object  # type: ignore[assignment,misc]

STATE_VERSION = 1


class IterableDataset(_Base):  # type: ignore[misc]
    """Samples in an order that depends on seed and epoch alone.

    batch_size     that of the loader: whole batches are dealt to ranks and workers.
    shuffle, seed  the order is a permutation of the whole dataset.
    bucket         sort so many batches by length, for batches of similar clips; 0: do not.
    rank, world_size  which of how many processes this is. They are not asked of
                   torch.distributed: Hugging Face's Accelerate deals out the samples
                   itself, and a dataset that did so too would lose most of them.
    tail           what becomes of the last samples: see Plan.
    follow         take up what was added to the dataset when an epoch begins. By
                   default with one rank only: several could see different versions.
    prefetch_bytes so much is read ahead by the kernel.

    Without PyTorch it can be iterated in one process. With PyTorch use Loader,
    or a DataLoader with the same batch_size and without persistent workers.
    """

    def __init__(self, source: Union[Reader, Path], batch_size: int, *, shuffle: bool = True, seed: int = 0,
                 bucket: int = 0, rank: int = 0, world_size: int = 1, tail: str = "keep",
                 follow: Optional[bool] = None, prefetch_bytes: int = 8 << 20,
                 augment: Optional[SpecAugment] = None,
                 transform: Optional[Callable[[Sample], Sample]] = None) -> None:
        if batch_size < 1 or bucket < 0 or not 0 <= rank < world_size:
            raise ValueError(f"batch_size {batch_size}, bucket {bucket}, rank {rank} of {world_size}")
        if tail not in ("keep", "drop", "repeat"):
            raise ValueError(f"tail={tail!r}: want 'keep', 'drop' or 'repeat'")
        self._samples = Dataset(source, augment=augment, transform=transform)
        self.batch_size, self.shuffle, self.seed, self.bucket = batch_size, shuffle, seed, bucket
        self.rank, self.world_size, self.tail = rank, world_size, tail
        self._follow = world_size == 1 if follow is None else follow
        self._prefetch_bytes = prefetch_bytes
        self.epoch = 0
        self._start = 0  # where the next iteration begins
        self._position = 0  # how far the present one has come
        self._served_by: Optional[int] = None

    @property
    def reader(self) -> Reader:
        return self._samples.reader

    def plan(self) -> Plan:
        """What is still to be read in this epoch, and by whom."""
        order = epoch_order(self.reader.frames, seed=self.seed, epoch=self.epoch, shuffle=self.shuffle,
                            batch_size=self.batch_size, bucket=self.bucket)
        return Plan(order, self.batch_size, self.world_size, self.tail, self._start)

    def __len__(self) -> int:
        """The number of samples of this rank in a whole epoch."""
        return Plan(self.reader.frames, self.batch_size, self.world_size, self.tail).samples(self.rank)

    def __iter__(self) -> Iterator[Sample]:
        worker = current()
        if worker is not None:
            self._refuse_persistence()
        plan, epoch = self.plan(), self.epoch
        steps = plan.steps_of(worker.id, worker.num_workers) if worker else plan.steps_of(0, 1)
        self._position = self._start
        for step, batch in self._ahead(plan, steps):
            last = len(batch) - 1
            for k, i in enumerate(batch):
                sample = self._samples.sample(i, epoch)
                if k == last:
                    self._reach(epoch, plan.position(step + 1))
                yield sample
        if worker is None:
            self._finish(epoch)

    def _ahead(self, plan: Plan, steps: Iterator[int]) -> Iterator[tuple[int, np.ndarray]]:
        """The batches of these steps, read ahead by up to prefetch_bytes."""
        queue: deque[tuple[int, np.ndarray, int]] = deque()
        pending = 0
        for step in steps:
            batch = plan.batch(step, self.rank)
            if len(batch) == 0:
                continue
            queue.append((step, batch, self.reader.will_need(batch)))
            pending += queue[-1][2]
            while pending > self._prefetch_bytes:
                ready = queue.popleft()
                pending -= ready[2]
                yield ready[:2]
        for ready in queue:
            yield ready[:2]

    def _refuse_persistence(self) -> None:
        """A worker that outlives an epoch cannot hear of the next one: better an error than the same epoch again."""
        if self._served_by == os.getpid():
            raise MelforgeError("persistent_workers=True: the workers would not see set_epoch; leave it off")
        self._served_by = os.getpid()

    def _reach(self, epoch: int, position: int) -> None:
        if self.epoch == epoch:  # or else set_epoch was called meanwhile
            self._position = position

    def _finish(self, epoch: int) -> None:
        if self.epoch == epoch:
            self.set_epoch(epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Begins another epoch; if it is the present one, nothing happens, so that a resumed run goes on in it.

        At the end of an iteration the next epoch begins by itself.
        """
        if epoch == self.epoch:
            return
        self.epoch, self._start, self._position = epoch, 0, 0
        if self._follow:
            self.refresh()

    def refresh(self) -> bool:
        """Takes up what was added to the dataset; with several ranks, call it in all of them at the same time."""
        if self._position:
            raise MelforgeError("refresh in the middle of an epoch: call set_epoch first")
        return self.reader.refresh()

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: after the last whole batch. Rank 0's state serves all ranks, and any number of them."""
        return {
            "version": STATE_VERSION,
            "epoch": self.epoch,
            "position": self._position,
            "order": self._settings(),
            "manifest": self.reader.manifest,
            "entries": len(self.reader),
        }

    def _settings(self) -> dict[str, Any]:
        """What decides the order. The size of a batch does only where lengths are sorted."""
        size = self.batch_size if self.bucket > 1 else None
        return {"seed": self.seed, "shuffle": self.shuffle, "bucket": self.bucket, "batch_size": size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where state was taken, if need be in the version of the dataset that it was taken in."""
        if state.get("version") != STATE_VERSION:
            raise MelforgeError(f"a state of version {state.get('version')!r}, want {STATE_VERSION}")
        if state["order"] != self._settings():
            raise MelforgeError(f"the state is of another order: {state['order']}, not {self._settings()}")
        self.reader.pin(state["manifest"])
        if len(self.reader) != state["entries"]:
            raise MelforgeError(f"the state is of {state['entries']} entries, but {len(self.reader)} are readable")
        self.epoch = state["epoch"]
        self._start = self._position = state["position"]


class Loader:
    """A DataLoader that knows how far its consumer has come.

    Workers prepare batches that nobody has seen yet, so neither they nor the
    dataset can say where a run was interrupted; who hands out the batches can.
    """

    def __init__(self, dataset: IterableDataset, collate_fn: Optional[Callable[[list[Sample]], Any]] = None,
                 num_workers: int = 0, **options: Any) -> None:
        from torch.utils.data import DataLoader

        if options.get("persistent_workers"):
            raise ValueError("persistent_workers=True: the workers would not see the next epoch")
        self.dataset = dataset
        self._loader = DataLoader(dataset, batch_size=dataset.batch_size, collate_fn=collate_fn or list,
                                  num_workers=num_workers, **options)

    def __len__(self) -> int:
        """The number of batches of this rank in a whole epoch."""
        return -(-len(self.dataset) // self.dataset.batch_size)

    def __iter__(self) -> Iterator[Any]:
        plan, epoch = self.dataset.plan(), self.dataset.epoch
        for step, batch in enumerate(self._loader):
            self.dataset._reach(epoch, plan.position(step + 1))
            yield batch
        self.dataset._finish(epoch)

    def set_epoch(self, epoch: int) -> None:
        """As IterableDataset.set_epoch."""
        self.dataset.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state after the last batch that was handed out."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """As IterableDataset.load_state_dict."""
        self.dataset.load_state_dict(state)
