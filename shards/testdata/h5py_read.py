"""Reads a shard with h5py and checks it against what TestH5py wrote."""
import json
import sys

import h5py
import numpy as np

KEYS = ["first", "straße-語", "x" * 5000]
FRAMES = [200, 0, 312]
PAD = [0xB800, 0x7E01, 0x0001]
VALUES = np.arange(65536, dtype="<u2").reshape(512, 128)


def check_packed(f: h5py.File) -> np.ndarray:
    assert sorted(f) == ["keys", "mel", "offsets", "pad"], sorted(f)
    assert f.attrs["version"] == 1 and "layout" not in f.attrs
    assert f["offsets"].dtype == np.dtype("<u8") and f["offsets"][:].tolist() == [0, 200, 200, 512]
    assert np.array_equal(f["mel"][200:512].view("<u2"), VALUES[200:])
    return VALUES


def check_padded(f: h5py.File) -> np.ndarray:
    assert sorted(f) == ["frames", "keys", "mel", "pad", "text"], sorted(f)
    assert {len(f[name]) for name in f} == {3}  # what load_dataset("hdf5", …) asks for
    assert f.attrs["version"] == 2 and f.attrs["layout"] == "padded"
    assert f["frames"].dtype == np.dtype("<i8") and f["frames"][:].tolist() == FRAMES
    assert list(f["text"].asstr()[:]) == ["Hello.", "", "語" * 5000]
    want = np.empty((3, 128, 400), "<u2")
    for row, clip in enumerate(np.split(VALUES, np.cumsum(FRAMES)[:-1])):
        want[row] = PAD[row]
        want[row, :, : len(clip)] = clip.T
    return want


with h5py.File(sys.argv[1]) as f:
    assert type(f.attrs["format"]) is str and f.attrs["format"] == "melforge-shard"
    assert np.issubdtype(type(f.attrs["version"]), np.integer)
    assert type(f.attrs["mel"]) is str and json.loads(f.attrs["mel"])["n_mels"] == 128
    mel, pad = f["mel"], f["pad"]
    assert pad.dtype == np.dtype("<f2") and pad[:].view("<u2").tolist() == PAD
    assert list(f["keys"].asstr()[:]) == KEYS, list(f["keys"].asstr()[:])
    layout = "packed" if mel.ndim == 2 else "padded"
    want = check_packed(f) if layout == "packed" else check_padded(f)
    assert mel.dtype == np.dtype("<f2") and mel.shape == want.shape and mel.chunks is None
    assert np.array_equal(mel[:].view("<u2"), want), "bit patterns differ"
    offset = mel.id.get_offset()

raw = np.memmap(sys.argv[1], "<u2", "r", offset, want.shape)
assert np.array_equal(raw, want), "memmap differs"
print(layout, "offset", offset)
