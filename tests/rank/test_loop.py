"""The harness's own self-tests (docs/method.md, "Self-tests") on a virtual clock: exact, and without waiting."""

from pathlib import Path

import numpy as np
import pytest

from paceline.analysis.one_trial.metrics import step_durations_s
from paceline.rank.loop import Feed, LoopRecord, run_loop
from paceline.rank.sampler import Sampler
from paceline.schema.suite import Variant
from paceline.schema.trial import Cell
from paceline.strategies.contract import Membership, Solo
from paceline.strategies.fake import Fake
from support.builders import make_cell, make_job


class VirtualTime:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.ns = 0

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)

    def clock(self) -> int:
        return self.ns


def run_fake(tmp_path: Path, cell: Cell, rank: int = 0) -> tuple[LoopRecord, Feed]:
    """Run the real loop with the fake strategy on virtual time."""
    time = VirtualTime()
    strategy = Fake(
        make_job(tmp_path, cell), Membership(rank, cell.ranks), time.sleep, now_s=lambda: time.ns / 1e9, group=Solo()
    )
    sampler = Sampler(3200, cell.micro_batch, cell.accumulation, rank, cell.ranks, 0, cell.incomplete_batch)
    feed = Feed(sampler, list, time.clock)
    loop = run_loop(
        strategy,
        feed,
        strategy.join(),
        time.clock,
        warm_up_steps=cell.warm_up_steps,
        steps=cell.steps,
        at_edge=lambda _edge: time.sleep(7.0),
    )
    return loop, feed


@pytest.mark.parametrize(("micro_batch", "accumulation"), [(16, 1), (8, 2), (4, 4)])
def test_throughput_counts_samples_of_all_ranks(tmp_path: Path, micro_batch: int, accumulation: int) -> None:
    cell = make_cell(micro_batch=micro_batch, accumulation=accumulation, variant=Variant(settings={"step_s": 0.5}))
    loops = [run_fake(tmp_path, cell, rank) for rank in range(2)]
    window_s = max(loop.window_ns[1] - loop.window_ns[0] for loop, _ in loops) / 1e9
    per_rank = [sum(feed.samples_per_step[1:]) / window_s for _, feed in loops]
    assert per_rank == [32.0, 32.0]
    assert sum(per_rank) == 64.0


def test_the_first_step_is_timed_apart_and_edges_cost_nothing(tmp_path: Path) -> None:
    cell = make_cell(
        warm_up_steps=2, steps=40, variant=Variant(settings={"first_steps_s": [5.0, 0.6, 0.12], "step_s": 0.1})
    )
    loop, _ = run_fake(tmp_path, cell)
    assert np.diff(loop.bounds[0])[0] == 5_000_000_000
    assert loop.window_ns[1] - loop.window_ns[0] == 4_000_000_000
    assert step_durations_s([loop.bounds], cell) == pytest.approx([0.1] * 40)


def test_data_wait_is_timed_by_the_harness(tmp_path: Path) -> None:
    time = VirtualTime()

    def fetch(indices: object) -> list[object]:
        time.sleep(0.25)
        return [indices]

    feed = Feed(Sampler(100, 2, 2, 0, 1, 0, "drop"), fetch, time.clock)
    assert len(list(feed.next_step())) == 2
    assert feed.wait_ns == 500_000_000
    assert feed.samples_per_step == [4]
