"""Fills a GPU's memory but for some MB, says so and holds it until it is killed.

    python scripts/cuda-fill.py 800
    python scripts/cuda-fill.py 60 60

With a second number it takes so many MB more as soon as another program ends
and frees at least 200. scripts/cuda-prove runs the engine beside it.
"""

import signal
import sys
import time

import torch

held = []


def free() -> int:
    return torch.cuda.mem_get_info()[0]


def take(size: int) -> None:
    held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))


left, size = int(sys.argv[1]) << 20, 1 << 32
while size >= 2 << 20:
    if free() - left < size:
        size //= 2
    else:
        take(size)
print("full:", free() >> 20, "MB are left", flush=True)
if len(sys.argv) > 2:
    before = free()
    while free() < before + (200 << 20):
        time.sleep(0.001)
    freed = free() - before
    take(int(sys.argv[2]) << 20)
    print("took", sys.argv[2], "of", freed >> 20, "MB that were freed", file=sys.stderr, flush=True)
signal.pause()
