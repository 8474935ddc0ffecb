"""Padded shards: the same clips, as one plain array."""

from __future__ import annotations

import pickle
import shutil
import unittest

import numpy as np

import melforge

from .folders import PADDED, TINY, FolderCase

try:
    import h5py
except ImportError:
    h5py = None
try:
    import datasets
except ImportError:
    datasets = None

SHARDS = sorted((PADDED / "shards").iterdir())


class PaddedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.reader = melforge.open(PADDED, verify=True)

    def test_items(self) -> None:
        packed = melforge.open(TINY)
        self.assertEqual((len(self.reader), self.reader.padded_frames), (5, 200))
        for item, other in zip(self.reader, packed):  # other mels of the same wavs
            self.assertEqual((item.key, item.text, item.frames), (other.key, other.text, other.frames))
            self.assertEqual((item.mel.shape, item.mel.dtype), ((other.frames, 8), np.float16))
            self.assertFalse(item.mel.flags.writeable)
            features = item.padded()
            self.assertEqual((features.shape, features.dtype), ((8, 200), np.float32))
            np.testing.assert_array_equal(features[:, : item.frames], item.mel.T)
            self.assertTrue((features[:, item.frames :] == item.pad).all())

    def test_other_uses(self) -> None:
        data = melforge.Dataset(self.reader, augment=melforge.SpecAugment(fill=9))
        self.assertEqual(self.reader.will_need(range(5)), 5 * 8 * 200 * 2)
        self.assertTrue((data[1]["mel"] == 9).any())
        copy = pickle.loads(pickle.dumps(self.reader))
        np.testing.assert_array_equal(copy[4].mel, self.reader[4].mel)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_equal_to_h5py(self) -> None:
        for item in self.reader:
            with h5py.File(PADDED / item.entry["shard"]) as f:
                row = item.entry["row"]
                np.testing.assert_array_equal(item.padded(dtype=np.float16), f["mel"][row])
                self.assertEqual((item.frames, item.pad), (f["frames"][row], f["pad"][row]))
                self.assertEqual((item.key, item.text), (f["keys"].asstr()[row], f["text"].asstr()[row]))


class DamageTest(FolderCase):
    def test_no_byte_of_the_head_crashes(self) -> None:
        path = self.folder / "padded"
        shutil.copytree(PADDED, path)
        shard = path / "shards" / SHARDS[1].name
        whole = shard.read_bytes()
        for at in range(0, 8192, 17):
            shard.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            try:
                melforge.open(path)[3].padded()
            except melforge.MelforgeError as err:
                self.assertIn(shard.name, str(err))


@unittest.skipIf(datasets is None or h5py is None, "datasets or h5py is not installed")
class HuggingFaceTest(FolderCase):
    def test_load_dataset(self) -> None:
        datasets.disable_progress_bars()
        data = datasets.load_dataset("hdf5", data_files=[str(p) for p in SHARDS], split="train", cache_dir=str(self.folder))
        self.assertEqual(sorted(data.column_names), ["frames", "keys", "mel", "pad", "text"])
        self.assertEqual((data.features["mel"].shape, data.features["mel"].dtype), ((8, 200), "float16"))
        reader = melforge.open(PADDED)
        self.assertEqual(len(data), len(reader))
        for row, item in zip(data.with_format("numpy"), reader):
            self.assertEqual((row["keys"], row["text"], row["frames"]), (item.key, item.text, item.frames))
            np.testing.assert_array_equal(row["mel"], item.padded())


if __name__ == "__main__":
    unittest.main()
