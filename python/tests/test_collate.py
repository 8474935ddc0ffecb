from __future__ import annotations

import pickle
import unittest
from types import SimpleNamespace

import numpy as np

import melforge

from .folders import TINY

try:
    import torch
except ImportError:
    torch = None

START, EOT = 1, 2


class Letters:
    """A tokenizer: a token a letter, with Whisper's start and end."""

    def __init__(self, start: bool = True) -> None:
        self.start = start

    def __call__(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(input_ids=[START] * self.start + [10 + ord(c) for c in text] + [EOT])


def collator(**options) -> melforge.Collator:
    return melforge.Collator(options.pop("tokenizer", Letters()), START, **{"return_tensors": "np", **options})


class CollateTest(unittest.TestCase):
    def setUp(self) -> None:
        self.data = melforge.Dataset(TINY)
        self.samples = [self.data[i] for i in range(5)]

    def test_features(self) -> None:
        features = collator()(self.samples)["input_features"]
        self.assertEqual((features.shape, features.dtype), ((5, 80, 3000), np.float32))
        for i, got in enumerate(features):
            np.testing.assert_array_equal(got, self.data.reader.features(i))

    def test_clips_that_are_not_padded(self) -> None:
        # Mels of other models than Whisper have no fixed length: a batch is as long as its longest clip.
        samples = [{**s, "padded_frames": None} for s in self.samples]
        features = collator()(samples)["input_features"]
        self.assertEqual(features.shape, (5, 80, max(len(s["mel"]) for s in samples)))
        self.assertEqual(collator(frames=200)(samples)["input_features"].shape, (5, 80, 200))

    def test_labels(self) -> None:
        for tokenizer in (Letters(True), Letters(False), SimpleNamespace(tokenizer=Letters())):
            labels = collator(tokenizer=tokenizer)(self.samples)["labels"]
            self.assertEqual(labels.dtype, np.int64)
            longest = max(len(s["text"]) for s in self.samples) + 1
            self.assertEqual(labels.shape, (5, longest))
            for row, s in zip(labels.tolist(), self.samples):
                want = [10 + ord(c) for c in s["text"]] + [EOT]
                self.assertEqual(row, want + [-100] * (longest - len(want)))

    def test_multiple(self) -> None:
        self.assertEqual(collator(label_multiple=64).labels(self.samples).shape, (5, 64))
        self.assertEqual(collator(label_multiple=64, max_labels=20).labels(self.samples).shape, (5, 20))

    def test_long_labels(self) -> None:
        with self.assertRaisesRegex(melforge.MelforgeError, "'rain' has 16 tokens"):
            collator(max_labels=15)(self.samples)
        labels = collator(max_labels=15, on_long="truncate")(self.samples)["labels"]
        self.assertEqual(labels.shape, (5, 15))
        self.assertEqual(labels[2, -1], EOT)

    def test_reused_memory(self) -> None:
        plain, reusing = collator(), collator(reuse=2)
        batches = [self.samples[:3], self.samples[2:], self.samples[:1], self.samples, self.samples[1:]]
        made = []
        for batch in batches:
            made.append(reusing.features(batch))
            for got, want in zip(made[-2:], batches[: len(made)][-2:]):  # the last two are whole
                np.testing.assert_array_equal(got, plain.features(want))
        self.assertTrue(np.shares_memory(made[0], made[2]))
        self.assertFalse(np.shares_memory(made[3], made[4]))
        copy = pickle.dumps(reusing)
        self.assertLess(len(copy), 1000)
        np.testing.assert_array_equal(pickle.loads(copy).features(batches[0]), plain.features(batches[0]))

    def test_wrong_arguments(self) -> None:
        for options in ({"on_long": "cut"}, {"return_tensors": "tf"}):
            with self.assertRaises(ValueError):
                collator(**options)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors(self) -> None:
        batch = collator(return_tensors="pt")(self.samples)
        self.assertEqual((batch["input_features"].dtype, batch["labels"].dtype), (torch.float32, torch.int64))


if __name__ == "__main__":
    unittest.main()
