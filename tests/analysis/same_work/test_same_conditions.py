"""Conditions are the same when all ranks of both trials read back the same, before the window and after it."""

from typing import Any

import pytest

from paceline.analysis.same_work.same_conditions import (
    NO_CONDITIONS,
    SameConditions,
    compare_conditions,
    worst_conditions,
)
from paceline.schema.conditions import ConditionsOutcome
from paceline.schema.records import Ending, LoadRecord, RankRecord
from paceline.schema.trial import Status
from paceline.schema.trial_records import TrialRecords
from support.runs import make_trial

ITEMS = {"intraop_threads": 1, "backend": "gloo", "environment": {"OMP_NUM_THREADS": "1"}, "python": "3.12.1"}


def rank(number: int, after: dict[str, Any] | None, before: dict[str, Any] | None = None) -> RankRecord:
    return RankRecord(
        rank=number, process_started_ns=0, reused_process=False, cores=[number], phases=[],
        conditions=after, conditions_at_start=before,
    )  # fmt: skip


def records(*ranks: RankRecord, **cell: Any) -> TrialRecords:
    return TrialRecords(
        trial=make_trial(**cell),
        ending=Ending(status=Status.OK, cause=None, wall_s=1.0),
        load=LoadRecord(started_ns=0, accepting_ns=0, scheduler=""),
        jobs=[],
        ranks={0: list(ranks)},
        bounds={},
        proof_arrays={},
    )


def test_ranks_that_read_back_alike_ran_under_the_same_conditions() -> None:
    trial = records(rank(0, ITEMS, ITEMS), rank(1, ITEMS, ITEMS))
    assert compare_conditions(trial, trial) == SameConditions(outcome=ConditionsOutcome.SAME)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_one_rank_at_one_moment_is_enough_to_differ(number: int, moment: str) -> None:
    other = ITEMS | {"intraop_threads": 2}
    ranks = [rank(0, ITEMS, ITEMS), rank(1, ITEMS, ITEMS)]
    ranks[number] = rank(number, other, ITEMS) if moment == "after" else rank(number, ITEMS, other)
    reference = records(rank(0, ITEMS, ITEMS), rank(1, ITEMS, ITEMS))
    found = compare_conditions(records(*ranks), reference)
    assert found.outcome is ConditionsOutcome.DIFFERENT
    assert found.differences == ["intraop_threads: 2 / 1"]


def test_the_reference_must_agree_with_itself() -> None:
    reference = records(rank(0, ITEMS), rank(1, ITEMS | {"backend": "nccl"}))
    found = compare_conditions(records(rank(0, ITEMS)), reference)
    assert found.differences == ["backend: nccl / gloo"]


def test_what_follows_from_the_layout_is_no_difference_between_layouts() -> None:
    other = {
        "intraop_threads": 2, "backend": None, "environment": {"OMP_NUM_THREADS": "2"}, "python": "3.12.1",
    }  # fmt: skip
    reference = records(rank(0, ITEMS), rank(1, ITEMS))
    one_rank = records(rank(0, other), ranks=1, cores_per_rank=2)
    assert compare_conditions(one_rank, reference).outcome is ConditionsOutcome.SAME
    found = compare_conditions(records(rank(0, other)), reference)
    assert found.differences == ["OMP_NUM_THREADS: 2 / 1", "backend: None / gloo", "intraop_threads: 2 / 1"]


def test_soft_items_are_noted_and_no_bar() -> None:
    found = compare_conditions(records(rank(0, ITEMS | {"python": "3.11.9"})), records(rank(0, ITEMS)))
    assert (found.outcome, found.notes) == (ConditionsOutcome.SAME, ["python: 3.11.9 / 3.12.1"])


def test_what_nobody_read_back_is_unproven() -> None:
    assert compare_conditions(records(rank(0, None)), records(rank(0, ITEMS))) == NO_CONDITIONS
    assert compare_conditions(records(rank(0, ITEMS)), records()) == NO_CONDITIONS
    assert NO_CONDITIONS.outcome is ConditionsOutcome.UNPROVEN


def test_the_worst_block_speaks_for_the_row() -> None:
    same = SameConditions(outcome=ConditionsOutcome.SAME)
    one = SameConditions(outcome=ConditionsOutcome.DIFFERENT, differences=["a: 1 / 2"])
    two = SameConditions(outcome=ConditionsOutcome.DIFFERENT, differences=["a: 1 / 2", "b: 1 / 2"])
    assert worst_conditions([same, two, one]) == two
    assert worst_conditions([]) == NO_CONDITIONS
