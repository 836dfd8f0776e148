"""Who may be recommended from a run at all, and by which values."""

from typing import Any

import pytest

from paceline.analysis.same_work.same_conditions import SameConditions
from paceline.analysis.same_work.timed_trials import SameWork
from paceline.analysis.whole_run.choice import Purpose
from paceline.analysis.whole_run.recommendation import recommendations
from paceline.analysis.whole_run.view import RunView
from paceline.errors import RequestError
from paceline.schema.records import FlagName
from paceline.schema.suite import Category
from support.runs import (
    OTHER_CONDITIONS,
    OTHER_WORK,
    UNPROVEN,
    make_comparison,
    make_result,
    make_run,
    make_trial,
    make_view,
)

SPEEDS = {"fake/quick": 200.0, "fake/middle": 150.0, "fake/slow": 100.0}
SPEED = {Purpose.SPEED: 1.0}


def view_of(
    work: dict[str, SameWork] | None = None, conditions: dict[str, SameConditions] | None = None, **comparison: Any
) -> RunView:
    """Return nine blocks of three engines; memory grows with speed."""
    trials = [make_trial(engine, block) for block in range(9) for engine in SPEEDS]
    results = [
        make_result(t, samples_per_s=SPEEDS[str(t.cell.engine)], peak_pss_bytes=SPEEDS[str(t.cell.engine)] * 1e6)
        for t in trials
    ]
    return make_view(make_run([make_comparison(*SPEEDS, **comparison)], trials), results, work, conditions)


@pytest.mark.parametrize("asked", ["fake", "moderate-complexity"])
def test_the_fastest_engine_is_recommended_by_workload_or_category(asked: str) -> None:
    ((comparison, choice),) = recommendations(view_of(), asked, SPEED)
    assert comparison.definition.workload == "fake"
    assert (choice.engine, choice.runner_up, choice.too_close) == ("fake/quick", "fake/middle", False)
    assert choice.marks == []


def test_memory_is_another_purpose() -> None:
    ((_, choice),) = recommendations(view_of(), "fake", {Purpose.MEMORY: 1.0})
    assert choice.engine == "fake/slow"


def test_who_does_other_work_or_ran_otherwise_is_left_out_and_named() -> None:
    view = view_of({"fake/quick": OTHER_WORK}, {"fake/middle": OTHER_CONDITIONS})
    ((_, choice),) = recommendations(view, "fake", SPEED)
    assert (choice.engine, choice.runner_up) == ("fake/slow", None)
    work, conditions = choice.marks
    assert work.startswith("fake/quick")
    assert "it clips" in work
    assert conditions.startswith("fake/middle")
    assert "intraop_threads: 2 / 1" in conditions


def test_who_is_unproven_may_be_taken_and_is_marked_once() -> None:
    view = view_of({"fake/quick": UNPROVEN, "fake/slow": UNPROVEN})
    ((_, choice),) = recommendations(view, "fake", SPEED)
    assert choice.engine == "fake/quick"
    (mark,) = choice.marks
    assert "nobody has proven it" in mark
    assert mark.endswith("fake/quick, fake/slow")


def test_blocks_that_do_not_count_decide_nothing() -> None:
    engines = ("fake/one", "fake/two")
    trials = [make_trial(engine, block) for block in range(4) for engine in engines]
    results = [
        make_result(
            t,
            samples_per_s=1.0 if t.block == 3 and t.cell.engine.strategy == "one" else 100.0 + t.position,
            flags={FlagName.DISTURBED: "others took 40%"} if t.block == 3 else None,
        )
        for t in trials
    ]
    view = make_view(make_run([make_comparison(*engines)], trials), results)
    assert (0, 3) in view.excluded
    ((_, choice),) = recommendations(view, "fake", SPEED)
    assert "of 3 blocks" in choice.reason


def test_what_measures_no_time_has_no_recommendation() -> None:
    assert recommendations(view_of(evaluate=True), "fake", SPEED) == []


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(RequestError, match="did you mean 'moderate-complexity'"):
        recommendations(view_of(), "moderate", SPEED)
    assert recommendations(view_of(category=Category.HIGH_LOAD), "high-load", SPEED)
