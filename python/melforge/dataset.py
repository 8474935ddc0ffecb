"""A dataset by index, as PyTorch's loaders and Hugging Face's Trainer take it."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

from .augment import SpecAugment
from .reader import Path, Reader

Sample = dict[str, Any]


def as_reader(source: Union[Reader, Path]) -> Reader:
    """A reader of a dataset that is given as a path or as a reader."""
    return source if isinstance(source, Reader) else Reader(source)


class Dataset:
    """A map-style dataset; it needs no PyTorch, and PyTorch needs no more of it.

    A sample is a dict with ``mel`` (float16 [frames, n_mels], without padding),
    ``pad``, ``index`` and the fields of the manifest (``id``, ``text``, ``duration``,
    …). Padding is left to the Collator, which runs last: until then a clip of
    three seconds is 48 kB and not 960 kB.
    """

    def __init__(self, source: Union[Reader, Path], *, augment: Optional[SpecAugment] = None,
                 transform: Optional[Callable[[Sample], Sample]] = None) -> None:
        self.reader = as_reader(source)
        self._augment, self._transform = augment, transform
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.reader)

    def __getitem__(self, i: int) -> Sample:
        return self.sample(i, self.epoch)

    def __getitems__(self, indices: Sequence[int]) -> list[Sample]:
        """A whole batch: the kernel reads all of it ahead. PyTorch 2 looks for this method."""
        self.reader.will_need(indices)
        return [self[i] for i in indices]

    def sample(self, i: int, epoch: int) -> Sample:
        """Entry i as it is in an epoch: augmented and transformed."""
        item = self.reader[int(i)]
        mel = item.mel if self._augment is None else self._augment(item.mel, epoch, item.index)
        sample = {**item.entry, "index": item.index, "mel": mel, "pad": item.pad, "padded_frames": self.reader.padded_frames}
        return sample if self._transform is None else self._transform(sample)

    def set_epoch(self, epoch: int, refresh: bool = False) -> None:
        """Says which epoch's masks to draw, and takes up what was added to the dataset if refresh is set.

        Not by itself: a sampler made for the old length would not know.
        """
        self.epoch = epoch
        if refresh:
            self.reader.refresh()
