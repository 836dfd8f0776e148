"""Blocks that were disturbed do not count; outsiders are told from a trial's own processes."""

import os
import subprocess
import sys

import pytest

from paceline.analysis.one_trial.disturbance import disturbance_of_load
from paceline.analysis.whole_run.excluded_blocks import excluded_blocks
from paceline.analysis.whole_run.summary import summarise
from paceline.conductor.machine.background_load import OutsideProcess, outside_cpu_s, read
from paceline.schema.conditions import Conditions, differing_conditions, soft_differences
from paceline.schema.engine import EngineName
from paceline.schema.metrics import Better
from paceline.schema.records import TRIAL_MARKER, BackgroundLoad, Flag, FlagName, Measure, Result
from paceline.schema.trial import Status, Trial
from support.builders import make_cell


def trial(engine: str, block: int) -> Trial:
    cell = make_cell(engine=EngineName("fake", engine))
    return Trial(
        id=f"{engine}-{block}", cell=cell, block=block, position=0, seed=0, conditions=Conditions(), devices=(0, 1)
    )


def result(of: Trial, value: float, *, disturbed: bool) -> Result:
    measure = Measure(value=value, unit="s", better=Better.LOWER, reduction="-")
    flags = [Flag(name=FlagName.DISTURBED, message="other processes took 40%")] if disturbed else []
    return Result(trial_id=of.id, status=Status.OK, cause=None, measures={"step_p50_s": measure}, flags=flags)


def test_a_disturbed_block_does_not_count_for_any_engine_of_its_comparison() -> None:
    trials = [trial(engine, block) for block in range(3) for engine in ("a", "b")]
    results = {
        t.id: result(t, float(t.block), disturbed=(t.block == 2 and t.cell.engine.strategy == "b")) for t in trials
    }
    assert excluded_blocks(trials, results) == {(0, 2): ["fake/b: other processes took 40%"]}
    for cell in summarise(trials, results, excluded_blocks(trials, results)):
        assert cell.metrics["step_p50_s"].max == 1.0
        assert (cell.ok, cell.planned, cell.excluded) == (2, 3, 1)


def test_blocks_that_are_all_disturbed_are_shown_rather_than_nothing() -> None:
    trials = [trial("a", block) for block in range(2)]
    results = {t.id: result(t, 1.0, disturbed=True) for t in trials}
    assert excluded_blocks(trials, results) == {}
    (cell,) = summarise(trials, results, excluded_blocks(trials, results))
    assert cell.ok == 2
    assert FlagName.DISTURBED in cell.flags


def outsider(own_s: float, children_s: float = 0.0, parent: int = 1, share: float = 1.0) -> OutsideProcess:
    return OutsideProcess(parent=parent, own_s=own_s, children_s=children_s, share=share)


@pytest.mark.parametrize(
    ("before", "after", "outside_s"),
    [
        ({(7, 0.0): outsider(5.0)}, {(7, 0.0): outsider(6.5)}, 1.5),
        ({}, {(7, 0.0): outsider(2.0, share=0.25)}, 0.5),
        ({(7, 0.0): outsider(0.0), (8, 0.0): outsider(90.0, parent=7)}, {(7, 0.0): outsider(0.0, 91.0)}, 1.0),
        ({(8, 0.0): outsider(90.0)}, {}, 0.0),
        (
            {(7, 0.0): outsider(0.0), (8, 0.0): outsider(1.0, parent=7), (9, 0.0): outsider(5.0, 60.0, parent=8)},
            {(7, 0.0): outsider(0.0, 68.0)},
            2.0,
        ),
    ],
    ids=["goes on", "is new", "has ended and was reaped", "has ended unseen", "has ended with its parent"],
)
def test_outsiders_time_is_what_they_used_since(
    before: dict[tuple[int, float], OutsideProcess], after: dict[tuple[int, float], OutsideProcess], outside_s: float
) -> None:
    assert outside_cpu_s(before, after) == pytest.approx(outside_s)


def test_what_carries_the_mark_is_no_outsider() -> None:
    marker = f"{TRIAL_MARKER}=mine"
    for environment, is_outsider in (({TRIAL_MARKER: "mine"}, False), ({TRIAL_MARKER: "another"}, True)):
        waits = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment)
        try:
            assert (waits.pid in {pid for pid, _ in read((0,), marker).outside}) == is_outsider
        finally:
            waits.communicate(b"\n")


def test_many_jobs_are_disturbed_by_the_same_rules() -> None:
    seen = BackgroundLoad(
        seconds=10, cores=[0, 1], steal_s=0.0, outside_s=3.0, pressure_s=None, throttled=2, memory_available_bytes=0
    )
    assert disturbance_of_load(seen).beyond_limits == [
        "other processes took 15% of the window (limit 10%)",
        "cores were throttled 2 times",
    ]
    assert disturbance_of_load(seen.model_copy(update={"outside_s": 1.0, "throttled": None})).beyond_limits == []


def test_soft_conditions_are_told_and_hard_ones_part() -> None:
    one = {"intraop_threads": 1, "process_threads": 14, "other_environment": {"NCCL_ASYNC_ERROR_HANDLING": "1"}}
    other = {"intraop_threads": 2, "process_threads": 37, "other_environment": {}}
    assert differing_conditions(one, other) == ["intraop_threads: 1 / 2"]
    assert soft_differences(one, other) == ["process_threads: 14 / 37", "NCCL_ASYNC_ERROR_HANDLING: 1 / None"]


def test_a_zombie_is_nobodys_outsider() -> None:
    ends = subprocess.Popen([sys.executable, "-c", ""], env={TRIAL_MARKER: "mine"})
    os.waitid(os.P_PID, ends.pid, os.WEXITED | os.WNOWAIT)  # it has ended and nobody has reaped it
    assert ends.pid not in {pid for pid, _ in read((0,), f"{TRIAL_MARKER}=mine").outside}
    ends.wait()
