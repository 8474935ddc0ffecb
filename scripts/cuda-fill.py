"""Fills a GPU's memory but for some MB, says so and holds it until it is killed.

    python scripts/cuda-fill.py 800
    python scripts/cuda-fill.py 60 620

With a second number it goes on: of what others free later it takes all but so
many MB. scripts/cuda-prove runs the engine beside it.
"""

import signal
import sys
import time

import torch

held = []


def fill(left: int) -> int:
    """Takes what is free, in large pieces first, and returns what is left."""
    size = 1 << 32
    while size >= 2 << 20:
        if torch.cuda.mem_get_info()[0] - left < size:
            size //= 2
        else:
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    return torch.cuda.mem_get_info()[0]


print("full:", fill(int(sys.argv[1]) << 20) >> 20, "MB are left", flush=True)
if len(sys.argv) == 2:
    signal.pause()
while True:
    before = torch.cuda.mem_get_info()[0]
    after = fill(int(sys.argv[2]) << 20)
    if after < before - (2 << 20):
        print("filled again:", before >> 20, "MB were free,", after >> 20, "are left", file=sys.stderr, flush=True)
    time.sleep(0.005)
