"""Reads a shard with h5py and checks it against what TestH5py wrote."""
import json
import sys

import h5py
import numpy as np

with h5py.File(sys.argv[1]) as f:
    assert sorted(f) == ["keys", "mel", "offsets", "pad"], sorted(f)
    assert type(f.attrs["format"]) is str and f.attrs["format"] == "melforge-shard"
    assert f.attrs["version"] == 1 and np.issubdtype(type(f.attrs["version"]), np.integer)
    assert type(f.attrs["mel"]) is str and json.loads(f.attrs["mel"])["n_mels"] == 128
    mel, offsets, pad, keys = f["mel"], f["offsets"], f["pad"], f["keys"]
    assert mel.dtype == np.dtype("<f2") and mel.shape == (512, 128) and mel.chunks is None
    assert offsets.dtype == np.dtype("<u8") and offsets[:].tolist() == [0, 200, 200, 512]
    assert pad.dtype == np.dtype("<f2") and pad[:].view("<u2").tolist() == [0xB800, 0x7E01, 0x0001]
    assert list(keys.asstr()[:]) == ["first", "straße-語", "x" * 5000], list(keys.asstr()[:])
    want = np.arange(65536, dtype="<u2").reshape(512, 128)
    assert np.array_equal(mel[:].view("<u2"), want), "bit patterns differ"
    assert np.array_equal(mel[200:512].view("<u2"), want[200:])
    offset = mel.id.get_offset()

raw = np.memmap(sys.argv[1], "<u2", "r", offset, (512, 128))
assert np.array_equal(raw, want), "memmap differs"
print("offset", offset)
