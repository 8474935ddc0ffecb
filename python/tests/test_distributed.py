"""Two processes that train together with DistributedDataParallel, on the CPU and over loopback."""

from __future__ import annotations

import multiprocessing
import os
import unittest
from pathlib import Path
from typing import Any, Optional

import melforge

from .folders import FolderCase

try:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
except ImportError:
    torch = None

RANKS, ENTRIES, BATCH = 2, 23, 2
STEPS = 6  # five of four entries, one of the last three


def collate(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The ids, and the mean of each mel as something to learn from."""
    means = [torch.from_numpy(s["mel"].astype("f4")).mean(0) for s in samples]
    return {"ids": [s["id"] for s in samples], "x": torch.stack(means)}


def train(rank: int, meeting: str, folder: str, method: Optional[str], state: Optional[dict[str, Any]], steps: int, out: Any) -> None:
    """What one process does: at most so many steps of the epoch, from the state on if there is one."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    torch.manual_seed(rank)  # DDP takes the weights of rank 0
    model = DistributedDataParallel(torch.nn.Linear(80, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = melforge.IterableDataset(folder, BATCH, seed=1, rank=rank, world_size=RANKS)
    options = {"num_workers": 2, "multiprocessing_context": method} if method else {}
    loader = melforge.Loader(data, collate, **options)
    if state is not None:
        loader.load_state_dict(state)
    seen = []
    for step, batch in enumerate(loader, 1):
        optimizer.zero_grad()
        model(batch["x"]).square().mean().backward()
        optimizer.step()
        seen.append(batch["ids"])
        if step == steps:
            break
    weights = [p.detach().numpy().tolist() for p in model.parameters()]
    out.put((rank, seen, loader.state_dict(), weights))
    dist.barrier()
    dist.destroy_process_group()


@unittest.skipIf(torch is None or not dist.is_available() or not dist.is_gloo_available(), "torch with gloo is not installed")
class DistributedTest(FolderCase):
    def run_ranks(self, folder: Path, method: Optional[str], state: Optional[dict[str, Any]], steps: int) -> list[tuple[Any, ...]]:
        context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
        out = context.Queue()
        meeting = str(self.folder / f"meeting-{method}-{steps}-{state is None}")
        processes = [context.Process(target=train, args=(r, meeting, str(folder), method, state, steps, out)) for r in range(RANKS)]
        for p in processes:
            p.start()
        results = sorted(out.get(timeout=120) for _ in processes)
        for p in processes:
            p.join()
            self.assertEqual(p.exitcode, 0)
        self.assertEqual(results[0][3], results[1][3])  # they did train together
        return results

    def test_every_clip_once_and_resume(self) -> None:
        folder = self.make(ENTRIES)
        whole = self.run_ranks(folder, None, None, STEPS)
        for _, seen, _, _ in whole:
            self.assertEqual(len(seen), STEPS)
        ids = [i for _, seen, _, _ in whole for batch in seen for i in batch]
        self.assertEqual(sorted(ids), sorted(f"e{i}" for i in range(ENTRIES)))
        for method in ("fork", "spawn"):  # of the loaders' workers
            with self.subTest(method):
                first = self.run_ranks(folder, method, None, 2)
                rest = self.run_ranks(folder, method, first[0][2], STEPS)  # rank 0's state serves both
                for rank in range(RANKS):
                    self.assertEqual(first[rank][1] + rest[rank][1], whole[rank][1])


if __name__ == "__main__":
    unittest.main()
