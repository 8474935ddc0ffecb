"""Samples to batches for Hugging Face's Whisper."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from .errors import MelforgeError
from .reader import pad_mel
from .worker import current

IGNORED = -100  # what the loss of PyTorch and Transformers leaves out


class Collator:
    """Makes ``input_features`` and ``labels`` of samples, for Seq2SeqTrainer.

    tokenizer     a WhisperTokenizer, or a processor that has one. Language and task are
                  its own: ``tokenizer.set_prefix_tokens(language="en", task="transcribe")``.
    decoder_start_token_id  the model's (``model.config.decoder_start_token_id``). The model
                  puts this token in front of the labels; where the tokenizer does so
                  too, it is removed, or the model would learn to repeat it.
                  ``tokenizer.bos_token_id`` is another token and no substitute.
    max_labels    the longest labels that the model takes (``model.config.max_target_positions``).
    on_long       "raise" an error that names the sample, or "truncate".
    frames        of the padded features; by default the dataset's (3000 for Whisper).
    label_multiple  labels are padded to a multiple of this: fewer different shapes.
    reuse         the features of so many batches take turns in the same memory: a batch
                  is overwritten when that many more have been made. 0: each has its own.
                  New memory is a third of the cost of a padded batch, so 2 is worth
                  having where each batch goes to a GPU before the next is asked for.
                  Workers of a loader ignore it: nobody tells them when a batch was used.
    return_tensors  "pt" for PyTorch, "np" for numpy.

    With the Trainer set ``remove_unused_columns=False``: it would drop what a sample
    consists of before the collator sees it.
    """

    def __init__(self, tokenizer: Any, decoder_start_token_id: int, *, max_labels: int = 448, on_long: str = "raise",
                 frames: Optional[int] = None, label_multiple: int = 1, reuse: int = 0,
                 return_tensors: str = "pt") -> None:
        if on_long not in ("raise", "truncate"):
            raise ValueError(f"on_long={on_long!r}: want 'raise' or 'truncate'")
        if return_tensors not in ("pt", "np"):
            raise ValueError(f"return_tensors={return_tensors!r}: want 'pt' or 'np'")
        self._tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
        self._start, self._max, self._truncate = decoder_start_token_id, max_labels, on_long == "truncate"
        self._frames, self._multiple, self._tensors = frames, label_multiple, return_tensors
        self._buffers: list[np.ndarray] = [np.empty((0, 0, 0), np.float32)] * reuse
        self._turn = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_buffers": [b[:0] for b in self._buffers]}  # memory belongs to one process

    def __call__(self, samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        batch = {"input_features": self.features(samples), "labels": self.labels(samples)}
        if self._tensors == "np":
            return batch
        import torch

        return {name: torch.from_numpy(array) for name, array in batch.items()}

    def features(self, samples: Sequence[dict[str, Any]]) -> np.ndarray:
        """float32 [batch, n_mels, frames]"""
        frames = self._frames or samples[0]["padded_frames"]
        if frames is None:
            frames = max(len(s["mel"]) for s in samples)
        out = self._memory(len(samples), samples[0]["mel"].shape[1], frames)
        for sample, place in zip(samples, out):
            pad_mel(sample["mel"], sample["pad"], frames, out=place)
        return out

    def _memory(self, clips: int, n_mels: int, frames: int) -> np.ndarray:
        if not self._buffers or current() is not None:
            return np.empty((clips, n_mels, frames), np.float32)
        self._turn = (self._turn + 1) % len(self._buffers)
        buffer = self._buffers[self._turn]
        if buffer.shape[1:] != (n_mels, frames) or len(buffer) < clips:
            buffer = self._buffers[self._turn] = np.empty((clips, n_mels, frames), np.float32)
        return buffer[:clips]

    def labels(self, samples: Sequence[dict[str, Any]]) -> np.ndarray:
        """int64 [batch, longest], filled up with -100"""
        rows = [self._label(s) for s in samples]
        longest = max(len(r) for r in rows)
        longest = min(-(-longest // self._multiple) * self._multiple, max(self._max, longest))
        out = np.full((len(rows), longest), IGNORED, np.int64)
        for row, place in zip(rows, out):
            place[: len(row)] = row
        return out

    def _label(self, sample: dict[str, Any]) -> list[int]:
        ids = list(self._tokenizer(sample["text"]).input_ids)
        if ids and ids[0] == self._start:
            ids = ids[1:]
        if len(ids) <= self._max:
            return ids
        if not self._truncate:
            raise MelforgeError(
                f"the text of {sample['id']!r} has {len(ids)} tokens, more than the {self._max} that the model takes: "
                "leave it out, or pass on_long='truncate'"
            )
        return ids[: self._max - 1] + ids[-1:]  # the last one ends the text
