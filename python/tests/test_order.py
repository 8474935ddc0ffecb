from __future__ import annotations

import unittest

import numpy as np

from melforge.augment import SpecAugment
from melforge.order import Plan, _stream, epoch_order, mix, shuffled

LENGTHS = (np.arange(997, dtype=np.int32) * 7919) % 1000


def order(n: int, **changes) -> np.ndarray:
    settings = {"seed": 3, "epoch": 1, "shuffle": True, "batch_size": 4, "bucket": 0, **changes}
    return epoch_order(LENGTHS[:n], **settings)


def deal(plan: Plan, workers: int) -> list[list[int]]:
    """What each rank's loader gives: a batch of each worker in turn."""
    ranks = []
    for rank in range(plan.world_size):
        lists = [[plan.batch(s, rank) for s in plan.steps_of(w, workers)] for w in range(workers)]
        turns = max((len(x) for x in lists), default=0)
        ranks.append([list(x[t]) for t in range(turns) for x in lists if t < len(x)])
    return ranks


class OrderTest(unittest.TestCase):
    def test_fixed_for_ever(self) -> None:
        # Stored states rely on these numbers: a change to them is a new version of the state.
        # The first are those of splitmix64's reference code for the seed 0.
        want = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
        self.assertEqual(_stream(0, 4).tolist(), want)
        self.assertEqual(mix(0), want[0])
        self.assertEqual(shuffled(8, 1, 2, 3).tolist(), [5, 0, 7, 3, 6, 1, 4, 2])

    def test_permutation(self) -> None:
        for n in (0, 1, 2, 3, 4, 5, 16, 17, 100, 997):
            for bucket in (0, 1, 2, 5, 1000):
                for shuffle in (True, False):
                    self.assertEqual(sorted(order(n, bucket=bucket, shuffle=shuffle)), list(range(n)))

    def test_seed_and_epoch(self) -> None:
        orders = [order(997, seed=s, epoch=e).tolist() for s in (0, 1) for e in (0, 1)]
        for i, a in enumerate(orders):
            for b in orders[:i]:
                self.assertLess(sum(x == y for x, y in zip(a, b)), 20)  # about one is expected
        self.assertEqual(order(997).tolist(), order(997).tolist())
        self.assertEqual(order(50, shuffle=False).tolist(), list(range(50)))

    def test_even_shuffle(self) -> None:
        # Where entry 0 comes, over many epochs: the mean is n/2 within four standard errors.
        places = [int(np.flatnonzero(order(100, epoch=e) == 0)[0]) for e in range(1000)]
        self.assertLess(abs(np.mean(places) - 49.5), 4 * 28.9 / 1000**0.5)

    def test_bucket(self) -> None:
        def spread(o: np.ndarray) -> float:
            return float(np.ptp(LENGTHS[o[:996]].reshape(-1, 4), axis=1).mean())

        self.assertLess(spread(order(997, bucket=50)), spread(order(997)) / 10)


class PlanTest(unittest.TestCase):
    def test_each_entry_once(self) -> None:
        for n in (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 101):
            for ranks in (1, 2, 3, 4, 8):
                for batch in (1, 3, 4):
                    o = order(n, batch_size=batch)
                    plan = Plan(o, batch, ranks)
                    first = deal(plan, 1)
                    got = [i for rank in first for b in rank for i in b]
                    self.assertEqual(sorted(got), list(range(n)), (n, ranks, batch))
                    self.assertEqual([sum(map(len, r)) for r in first], [plan.samples(r) for r in range(ranks)])
                    for workers in (2, 3, 5):
                        self.assertEqual(deal(plan, workers), first, (n, ranks, batch, workers))

    def test_tails(self) -> None:
        for n in (1, 5, 16, 17, 30, 31, 33):
            for ranks in (1, 2, 4):
                for tail in ("drop", "repeat"):
                    plan = Plan(order(n), 4, ranks, tail)
                    got = deal(plan, 2)
                    self.assertEqual({len(b) for rank in got for b in rank} - {4}, set())
                    self.assertEqual(len({len(rank) for rank in got}), 1)  # all ranks take the same number of steps
                    self.assertEqual([sum(map(len, r)) for r in got], [plan.samples(r) for r in range(ranks)])
                    flat = [i for rank in got for b in rank for i in b]
                    if tail == "drop":
                        self.assertEqual(len(set(flat)), n - n % (4 * ranks))
                        self.assertEqual(len(flat), len(set(flat)))
                    else:
                        self.assertEqual(set(flat), set(range(n)))

    def test_resume_everywhere(self) -> None:
        for n, ranks, batch in ((17, 1, 4), (23, 2, 3), (40, 4, 2)):
            whole = Plan(order(n, batch_size=batch), batch, ranks)
            for done in range(whole.steps() + 1):
                rest = Plan(whole.order, batch, ranks, start=whole.position(done))
                for a, b in zip(deal(whole, 1), deal(rest, 3)):
                    self.assertEqual(a[done:], b)

    def test_resume_with_other_ranks(self) -> None:
        whole = Plan(order(101), 4, 2)
        for done in range(whole.steps() + 1):
            seen = [i for s in range(done) for r in range(2) for i in whole.batch(s, r)]
            rest = Plan(whole.order, 8, 3, start=whole.position(done))
            seen += [i for rank in deal(rest, 2) for b in rank for i in b]
            self.assertEqual(sorted(seen), list(range(101)))


class AugmentTest(unittest.TestCase):
    mel = np.random.default_rng(2).standard_normal((300, 80)).astype(np.float16)

    def test_drawn_by_seed_epoch_index(self) -> None:
        a = SpecAugment(seed=5)
        np.testing.assert_array_equal(a(self.mel, 1, 2), SpecAugment(seed=5)(self.mel, 1, 2))
        for other in (SpecAugment(seed=6)(self.mel, 1, 2), a(self.mel, 2, 2), a(self.mel, 1, 3)):
            self.assertFalse(np.array_equal(a(self.mel, 1, 2), other))

    def test_widths_are_drawn_in_each_epoch(self) -> None:
        a = SpecAugment(time_masks=1, freq_masks=0, fill=9)
        self.assertGreater(len({int((a(self.mel, epoch, 0) == 9).sum()) for epoch in range(20)}), 5)

    def test_bounds(self) -> None:
        widest_time = widest_freq = 0
        for index in range(300):
            time = SpecAugment(time_masks=1, freq_masks=0, time_width=40, fill=9)(self.mel, 0, index) == 9
            freq = SpecAugment(time_masks=0, freq_masks=1, freq_width=15, fill=9)(self.mel, 0, index) == 9
            self.assertTrue((time.all(1) == time.any(1)).all())
            self.assertTrue((freq.all(0) == freq.any(0)).all())
            widest_time = max(widest_time, int(time.any(1).sum()))
            widest_freq = max(widest_freq, int(freq.any(0).sum()))
        self.assertEqual((widest_time, widest_freq), (40, 15))

    def test_short_clips(self) -> None:
        a = SpecAugment(fill=9)
        for frames in (0, 1, 4, 5, 10):
            out = a(self.mel[:frames], 0, 0)
            self.assertEqual(out.shape, (frames, 80))
            self.assertLessEqual((out == 9).all(1).sum(), 2 * int(0.2 * frames))

    def test_leaves_the_source(self) -> None:
        before = self.mel.copy()
        SpecAugment()(self.mel, 0, 0)
        np.testing.assert_array_equal(self.mel, before)


if __name__ == "__main__":
    unittest.main()
