from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
import unittest
import wave
from pathlib import Path

import numpy as np

import melforge

from .folders import ROOT, TINY, FolderCase, lines, repeated, write

try:
    import h5py
except ImportError:
    h5py = None
try:
    from transformers import WhisperFeatureExtractor
except ImportError:
    WhisperFeatureExtractor = None


def total(reader: melforge.Reader, i: int) -> float:
    return float(reader[i].mel.sum(dtype=np.float64))


class ReadTest(unittest.TestCase):
    def test_items(self) -> None:
        reader = melforge.open(TINY)
        want = lines()
        self.assertEqual(len(reader), len(want))
        for item, entry in zip(reader, want):
            self.assertEqual(item.entry, entry)
            self.assertEqual((item.id, item.text, item.lang, item.duration, item.key, item.voice),
                             tuple(entry[k] for k in ("id", "text", "lang", "duration", "key", "voice")))
            self.assertEqual(item.mel.shape, (entry["frames"], 80))
            self.assertEqual(item.mel.dtype, np.float16)
            self.assertFalse(item.mel.flags.writeable)
            self.assertIs(reader[item.id].index, item.index)
            self.assertIs(reader[item.key].index, item.index)
        self.assertEqual(reader[-1].id, want[-1]["id"])
        for wrong, error in ((len(reader), IndexError), (-len(reader) - 1, IndexError), ("nobody", KeyError)):
            with self.assertRaises(error):
                reader[wrong]

    def test_padded(self) -> None:
        reader = melforge.open(TINY)
        for item in reader:
            for dtype in (np.float16, np.float32):
                features = reader.features(item.index, dtype)
                self.assertEqual((features.shape, features.dtype), ((80, 3000), dtype))
                np.testing.assert_array_equal(features[:, : item.frames], item.mel.T)
                self.assertTrue((features[:, item.frames :] == item.pad).all())
        with self.assertRaisesRegex(melforge.MelforgeError, "does not fit"):
            reader[0].padded(frames=10)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_equal_to_h5py(self) -> None:
        reader = melforge.open(TINY)
        for entry, item in zip(lines(), reader):
            with h5py.File(TINY / entry["shard"]) as f:
                first, last = f["offsets"][entry["row"] : entry["row"] + 2]
                np.testing.assert_array_equal(item.mel, f["mel"][first:last])
                self.assertEqual(item.pad, f["pad"][entry["row"]])
                self.assertEqual(item.key, f["keys"].asstr()[entry["row"]])

    @unittest.skipIf(WhisperFeatureExtractor is None, "transformers is not installed")
    def test_equal_to_hugging_face(self) -> None:
        extractor = WhisperFeatureExtractor(feature_size=80)
        for item in melforge.open(TINY):
            with wave.open(str(TINY / item.entry["audio_filepath"])) as w:
                audio = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768
            want = extractor(audio, sampling_rate=16000, return_tensors="np").input_features[0]
            # Values lie between -1.5 and 1.5, where float16 rounds by up to 0.0005; float32 sums differ by less.
            np.testing.assert_allclose(item.padded(), want, rtol=0, atol=1e-3)

    def test_will_need(self) -> None:
        reader = melforge.open(TINY)
        self.assertEqual(reader.will_need(range(5)), sum(item.mel.nbytes for item in reader))

    def test_map_limit(self) -> None:
        reader = melforge.open(TINY, max_open=1)
        views = [reader[i].mel for i in (0, 3, 1, 4, 2)]
        whole = melforge.open(TINY)
        for i, view in zip((0, 3, 1, 4, 2), views):
            np.testing.assert_array_equal(view, whole[i].mel)

    def test_other_processes(self) -> None:
        reader = melforge.open(TINY)
        want = [total(reader, i) for i in range(5)]  # the maps are open now
        self.assertEqual([total(pickle.loads(pickle.dumps(reader)), i) for i in range(5)], want)
        for method in ("fork", "spawn"):
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.starmap(total, [(reader, i) for i in range(5)]), want)

    def test_imports_little(self) -> None:
        code = "import sys, melforge; melforge.open(sys.argv[1])[0].padded(); print({'torch', 'h5py'} & set(sys.modules))"
        out = subprocess.run([sys.executable, "-c", code, str(TINY)], cwd=ROOT.parent, capture_output=True, text=True, check=True)
        self.assertEqual(out.stdout.strip(), "set()")


class DamageTest(FolderCase):
    def damage(self, path: Path, at: int) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 0x40
        path.write_bytes(data)

    def test_unknown(self) -> None:
        for change, want in (({"version": 3}, "version 3"), ({"format": "other"}, "'other'")):
            write(self.folder, lines(), **change)
            with self.assertRaisesRegex(melforge.FormatError, want):
                melforge.open(self.folder)

    def test_no_dataset(self) -> None:
        with self.assertRaisesRegex(melforge.MelforgeError, "dataset.json"):
            melforge.open(self.folder)
        (self.folder / "dataset.json").write_text("{")
        with self.assertRaisesRegex(melforge.DamagedError, "dataset.json"):
            melforge.open(self.folder)

    def test_manifest(self) -> None:
        path = self.copy()
        manifest = next((path / "index").glob("manifest-*"))
        manifest.write_bytes(manifest.read_bytes().replace(b"Hello", b"Jello"))  # still JSON
        with self.assertRaisesRegex(melforge.DamagedError, manifest.name):
            melforge.open(path)

    def test_no_mels(self) -> None:
        write(self.folder, [{k: v for k, v in e.items() if k != "shard"} for e in lines()])
        with self.assertRaisesRegex(melforge.MelforgeError, "no mels yet"):
            melforge.open(self.folder)

    def test_rows_of_another_shard(self) -> None:
        path = self.make(5)
        for change, want in (({"row": 9}, "row 9"), ({"frames": 7}, "row 0")):
            write(path, [{**lines()[0], **change}])
            with self.assertRaisesRegex(melforge.DamagedError, want):
                melforge.open(path)[0]

    def test_shards(self) -> None:
        def shorten(p: Path) -> None:
            p.write_bytes(p.read_bytes()[:-1])

        for name, harm, verify in (
            ("missing", Path.unlink, False),
            ("truncated", shorten, False),
            ("superblock", lambda p: self.damage(p, 20), False),  # an address that nobody uses: only its checksum tells
            ("object header", lambda p: self.damage(p, 60), False),
            ("last value", lambda p: self.damage(p, -1), True),
        ):
            with self.subTest(name):
                path = self.folder / name
                self.make(5).rename(path)
                shard = sorted((path / "shards").iterdir())[1]
                harm(shard)
                reader = melforge.open(path, verify=verify)
                self.assertEqual(reader[0].id, "e0")  # the other shard is whole
                with self.assertRaisesRegex(melforge.DamagedError, shard.name):
                    reader[3]
                with self.assertWarnsRegex(UserWarning, shard.name):
                    reader = melforge.open(path, verify=verify, on_damage="skip")
                self.assertEqual([item.id for item in reader], ["e0", "e1", "e2"])
                self.assertEqual(list(reader.damaged), [f"shards/{shard.name}"])

    def test_no_fixed_length(self) -> None:
        path = self.make(5)
        write(path, repeated(5), mel={**melforge.open(TINY).mel, "chunk_seconds": 0})
        item = melforge.open(path)[0]
        with self.assertRaisesRegex(melforge.MelforgeError, "how many frames"):
            item.padded()
        self.assertEqual(item.padded(frames=150).shape, (80, 150))

    def test_no_byte_of_the_head_crashes(self) -> None:
        path = self.make(5)
        shard = sorted((path / "shards").iterdir())[1]
        whole = shard.read_bytes()
        for at in range(0, 4096, 7):
            shard.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            try:
                melforge.open(path)[3].padded()
            except melforge.MelforgeError as err:
                self.assertIn(shard.name, str(err))


class GrowTest(FolderCase):
    def test_refresh(self) -> None:
        path = self.make(5)
        reader = melforge.open(path)
        old, before = reader[4].mel, reader.manifest
        self.assertFalse(reader.refresh())
        write(path, repeated(9))
        self.assertEqual(len(reader), 5)
        self.assertTrue(reader.refresh())
        self.assertEqual((len(reader), reader["e8"].index), (9, 8))
        np.testing.assert_array_equal(old, reader[4].mel)
        reader.pin(before)
        self.assertEqual(len(reader), 5)
        (path / before["file"]).unlink()
        reader.refresh()
        with self.assertRaisesRegex(melforge.MelforgeError, "cannot go back"):
            reader.pin(before)

    def test_other_mel(self) -> None:
        path = self.make(5)
        reader = melforge.open(path)
        write(path, repeated(6), mel={"name": "whisper-128"})
        with self.assertRaisesRegex(melforge.MelforgeError, "mel configuration"):
            reader.refresh()


if __name__ == "__main__":
    unittest.main()
