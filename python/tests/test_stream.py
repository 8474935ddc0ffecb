from __future__ import annotations

import json
import unittest
import warnings

import numpy as np

import melforge

from .folders import TINY, FolderCase, repeated, write

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError:
    torch = None


def ids(samples) -> list[str]:
    return [s["id"] for s in samples]


def batch_ids(batches) -> list[list[str]]:
    return [ids(b) for b in batches]


class DatasetTest(unittest.TestCase):
    def test_samples(self) -> None:
        data = melforge.Dataset(TINY, augment=melforge.SpecAugment(fill=9), transform=lambda s: {**s, "more": 1})
        self.assertEqual(len(data), 5)
        self.assertEqual(data[2]["text"], "It rains again.")
        self.assertEqual((data[2]["index"], data[2]["more"]), (2, 1))
        first = data[2]["mel"]
        np.testing.assert_array_equal(data.__getitems__([2, 3])[0]["mel"], first)
        data.set_epoch(1)
        self.assertFalse(np.array_equal(data[2]["mel"], first))


class StreamTest(FolderCase):
    def stream(self, n: int = 23, **options) -> melforge.IterableDataset:
        return melforge.IterableDataset(self.make(n), **{"batch_size": 4, "seed": 1, **options})

    def test_epochs(self) -> None:
        s = self.stream()
        first, second = ids(s), ids(s)
        self.assertEqual(s.epoch, 2)
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)
        s.set_epoch(0)
        self.assertEqual(ids(s), first)

    def test_ranks(self) -> None:
        for n in (1, 3, 22, 23, 24, 25):
            for ranks in (1, 2, 3):
                all_ids = [ids(self.stream(n, rank=r, world_size=ranks, bucket=2)) for r in range(ranks)]
                self.assertEqual(sorted(sum(all_ids, [])), sorted(f"e{i}" for i in range(n)))
                self.assertEqual([len(x) for x in all_ids],
                                 [len(self.stream(n, rank=r, world_size=ranks)) for r in range(ranks)])

    def test_read_ahead(self) -> None:
        want = ids(self.stream())
        for size in (0, 1, 100_000):  # nothing, a batch, some batches
            self.assertEqual(ids(self.stream(prefetch_bytes=size)), want)

    def test_resume_after_every_batch(self) -> None:
        whole = [s["id"] for s in self.stream(bucket=3)]
        masks = [s["mel"] for s in self.stream(bucket=3, augment=melforge.SpecAugment())]
        for done in range(0, 24):
            s = self.stream(bucket=3)
            it = iter(s)
            for _ in range(done):
                next(it)
            state = json.loads(json.dumps(s.state_dict()))
            resumed = self.stream(bucket=3, augment=melforge.SpecAugment())
            resumed.load_state_dict(state)
            self.assertEqual(resumed.state_dict(), state)
            resumed.set_epoch(0)  # as a training loop does
            rest = list(resumed)
            at = done if done == 23 else done // 4 * 4
            self.assertEqual(ids(rest), whole[at:])
            for a, b in zip(rest, masks[at:]):
                np.testing.assert_array_equal(a["mel"], b)
            self.assertEqual(resumed.epoch, 1)

    def test_refuses_other_orders(self) -> None:
        state = self.stream().state_dict()
        for options in ({"seed": 2}, {"shuffle": False}, {"bucket": 2}):
            with self.assertRaisesRegex(melforge.MelforgeError, "another order"):
                self.stream(**options).load_state_dict(state)
        self.stream(batch_size=5).load_state_dict(state)  # sorted by nothing: any size goes on
        with self.assertRaisesRegex(melforge.MelforgeError, "version"):
            self.stream().load_state_dict({**state, "version": 9})

    def test_grown(self) -> None:
        path = self.make(23)
        s = melforge.IterableDataset(path, 4)
        it = iter(s)
        before = ids(next(it) for _ in range(8))
        state = s.state_dict()
        write(path, repeated(30))
        before += ids(it)  # the epoch ends as it began
        self.assertEqual(sorted(before), sorted(f"e{i}" for i in range(23)))
        self.assertEqual(sorted(ids(s)), sorted(f"e{i}" for i in range(30)))

        resumed = melforge.IterableDataset(path, 4)
        resumed.load_state_dict(state)
        self.assertEqual(ids(resumed), before[8:])
        self.assertEqual(len(ids(resumed)), 30)

    def test_wrong_arguments(self) -> None:
        for options in ({"batch_size": 0}, {"rank": 1}, {"tail": "cut"}, {"bucket": -1}):
            with self.assertRaises(ValueError):
                self.stream(**options)

    def test_damaged_shards_are_left_out_everywhere(self) -> None:
        path = self.make(23)
        sorted((path / "shards").iterdir())[1].unlink()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = [ids(melforge.IterableDataset(melforge.open(path, on_damage="skip"), 4, rank=r, world_size=2)) for r in (0, 1)]
        self.assertEqual(sorted(sum(got, [])), sorted(f"e{i}" for i in range(23) if i % 5 < 3))


@unittest.skipIf(torch is None, "torch is not installed")
class LoaderTest(FolderCase):
    def loader(self, workers: int, **options) -> melforge.Loader:
        s = melforge.IterableDataset(self.make(23), 4, seed=1, **options)
        return melforge.Loader(s, num_workers=workers)

    def test_same_whatever_the_workers(self) -> None:
        for options in ({}, {"bucket": 2}, {"rank": 1, "world_size": 2}):
            want = batch_ids(self.loader(0, **options))
            for workers in (1, 2, 3):
                self.assertEqual(batch_ids(self.loader(workers, **options)), want)

    def test_start_methods(self) -> None:
        want = batch_ids(self.loader(0))
        for method in ("fork", "spawn"):
            s = melforge.IterableDataset(self.make(23), 4, seed=1)
            s.reader[0]  # a map is open when the workers start
            self.assertEqual(batch_ids(melforge.Loader(s, num_workers=2, multiprocessing_context=method)), want)

    def test_resume_while_workers_run_ahead(self) -> None:
        whole = batch_ids(self.loader(0))
        for done in range(len(whole) + 1):
            first = self.loader(2)
            it = iter(first)
            for _ in range(done):
                next(it)
            state = first.state_dict()
            del it
            second = self.loader(1)
            second.load_state_dict(state)
            self.assertEqual(batch_ids(second), whole[done:])
            self.assertEqual(second.dataset.epoch, 1)

    def test_epochs_go_on(self) -> None:
        a, b = self.loader(0), self.loader(2)
        for _ in range(3):
            self.assertEqual(batch_ids(a), batch_ids(b))
        self.assertEqual(len(a), len(batch_ids(a)))

    def test_persistent_workers(self) -> None:
        with self.assertRaises(ValueError):
            melforge.Loader(melforge.IterableDataset(TINY, 4), num_workers=1, persistent_workers=True)
        plain = DataLoader(melforge.IterableDataset(TINY, 4), batch_size=4, collate_fn=list, num_workers=1,
                           persistent_workers=True)
        list(plain)
        with self.assertRaisesRegex(melforge.MelforgeError, "persistent_workers"):
            list(plain)

    def test_map_style(self) -> None:
        for method in ("fork", "spawn"):
            loader = DataLoader(melforge.Dataset(self.make(23)), batch_size=4, shuffle=True, num_workers=2,
                                collate_fn=list, multiprocessing_context=method)
            self.assertEqual(sorted(sum(batch_ids(loader), [])), sorted(f"e{i}" for i in range(23)))


if __name__ == "__main__":
    unittest.main()
