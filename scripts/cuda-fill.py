"""Fills a GPU's memory but for some MB, says so and holds it until it is killed.

    python scripts/cuda-fill.py 800

scripts/cuda-prove runs the engine beside it.
"""

import signal
import sys

import torch

left, held, size = int(sys.argv[1]) << 20, [], 1 << 32
while size >= 1 << 20:
    if torch.cuda.mem_get_info()[0] - left < size:
        size //= 2
    else:
        held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
print("full:", torch.cuda.mem_get_info()[0] >> 20, "MB are left", flush=True)
signal.pause()
