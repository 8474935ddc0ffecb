"""Writes golden.json: what the Python package melforge draws.

Run in the repository's root: PYTHONPATH=python python3 trainer/testdata/make_golden.py
"""

import json
import pathlib
import zlib

import melforge
import numpy as np

from melforge.augment import SpecAugment
from melforge.order import Plan, epoch_order


def lengths(n: int) -> np.ndarray:
    return (np.arange(n, dtype=np.int32) * 7919) % 1000 // 20


def orders():
    for n in (0, 1, 7, 16, 37, 997):
        for seed, epoch in ((0, 0), (3, 1), (-5, 7), (2**40, 123456)):
            for shuffle, batch_size, bucket in ((True, 4, 0), (True, 4, 3), (False, 3, 5), (True, 5, 1000)):
                order = epoch_order(lengths(n), seed=seed, epoch=epoch, shuffle=shuffle, batch_size=batch_size, bucket=bucket)
                case = {"n": n, "seed": seed, "epoch": epoch, "shuffle": shuffle, "batch": batch_size, "bucket": bucket,
                        "crc32": zlib.crc32(order.astype("<i4").tobytes())}
                if n <= 16:
                    case["order"] = order.tolist()
                yield case


def plans():
    order = epoch_order(lengths(37), seed=1, epoch=2, shuffle=True, batch_size=4, bucket=0)
    for world in (1, 2, 3, 5):
        for start in (0, 8, 33, 37):
            for tail in ("keep", "drop"):
                plan = Plan(order, 4, world, tail, start)
                yield {"world": world, "start": start, "drop": tail == "drop",
                       "ranks": [[plan.batch(s, r).tolist() for s in range(plan.steps())] for r in range(world)]}


def mel(frames: int, mels: int) -> np.ndarray:
    """Sixteenths, so that every sum of them is exact."""
    return ((np.arange(frames * mels) * 37 % 101 - 50) / 16).astype("<f2").reshape(frames, mels)


def masks():
    for frames, mels in ((0, 80), (1, 80), (4, 8), (57, 80), (302, 80), (302, 128), (3000, 80)):
        for settings in ({}, {"fill": 9.0, "seed": 4}, {"time_masks": 5, "time_width": 500, "time_share": 0.33, "freq_masks": 0, "seed": -1},
                         {"time_masks": 0, "freq_masks": 3, "freq_width": 200, "fill": -0.1}):
            for epoch, index in ((0, 0), (3, 1234567)):
                out = SpecAugment(**settings)(mel(frames, mels), epoch, index)
                yield {"frames": frames, "mels": mels, **settings, "epoch": epoch, "index": index, "crc32": zlib.crc32(out.tobytes())}


def clips():
    """The padded arrays of a dataset that the pipeline made."""
    reader = melforge.open("python/tests/data/tiny")
    for i in range(len(reader)):
        yield {"id": reader[i].id, "text": reader[i].text, "half": zlib.crc32(reader.features(i, "<f2").tobytes()),
               "float": zlib.crc32(reader.features(i, "<f4").tobytes())}


golden = {"clips": list(clips()), "orders": list(orders()), "plans": list(plans()), "masks": list(masks())}
lines = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]" for name, cases in golden.items())
pathlib.Path(__file__).with_name("golden.json").write_text("{" + lines + "}\n")
