"""The checksum and the HDF5 reader against what others compute."""

from __future__ import annotations

import unittest

import numpy as np

from melforge import checksum, hdf5

from .folders import TINY

try:
    import h5py
except ImportError:
    h5py = None


class ChecksumTest(unittest.TestCase):
    def test_known(self) -> None:
        # RFC 3720, appendix B.4, and the check value of the CRC catalogue.
        for data, want in ((b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43),
                           (bytes(range(32)), 0x46DD794E)):
            self.assertEqual(checksum._crc_numpy(data), want)
            self.assertEqual(checksum.crc32c(data), want)

    def test_in_parts(self) -> None:
        data = np.random.default_rng(1).bytes(70_001)
        want = checksum._crc_numpy(data)
        for cut in (0, 1, 3, 4, 5, 63, 64, 65, 8191, 65_536, 70_000, 70_001):
            self.assertEqual(checksum._crc_numpy(data[cut:], checksum._crc_numpy(data[:cut])), want)
        self.assertEqual(checksum.crc32c(data), want)


class HeadTest(unittest.TestCase):
    def test_lookup3(self) -> None:
        # The values that its author gives in lookup3.c.
        self.assertEqual(hdf5.lookup3(b""), 0xDEADBEEF)
        self.assertEqual(hdf5.lookup3(b"Four score and seven years ago"), 0x17770551)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_equal_to_h5py(self) -> None:
        for path in sorted((TINY / "shards").iterdir()):
            head = hdf5.read_head(path, keys=True)
            with h5py.File(path) as f:
                np.testing.assert_array_equal(head.offsets, f["offsets"][:])
                np.testing.assert_array_equal(head.pad, f["pad"][:])
                self.assertEqual(head.keys, tuple(f["keys"].asstr()[:]))
                self.assertEqual((head.frames, head.n_mels), f["mel"].shape)
                self.assertEqual(head.mel_offset, f["mel"].id.get_offset())


if __name__ == "__main__":
    unittest.main()
