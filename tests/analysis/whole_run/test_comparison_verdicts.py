"""The verdicts of one comparison: who is faster, the ranks, and who is not judged at all."""

import math

import numpy as np
import pytest

from paceline.analysis.statistics.pair_verdict import Word
from paceline.analysis.statistics.rank_intervals import RankInterval
from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict, comparison_verdicts
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.metrics import Better
from paceline.schema.records import Measure, Result
from paceline.schema.suite import Category, Comparison, Suite
from paceline.schema.trial import Status, Trial
from support.builders import make_cell


def comparison_of(times: dict[str, list[float]], admitted: dict[str, bool] | None = None) -> list[EngineVerdict]:
    """Return the verdicts of a comparison whose first engine is the reference; infinity is a failure."""
    names = [f"fake/{name}" for name in times]
    engines = tuple(EngineName.parse(name) for name in names)
    compared = Comparison(category=Category.LARGE_SCALE, workload="fake", engines=engines, steps=10)
    suite = Suite(name="s", description="-", blocks=9, comparisons=(compared,))
    trials, results = [], {}
    for name, values in times.items():
        cell = make_cell(engine=EngineName("fake", name), category=Category.LARGE_SCALE)
        for block, value in enumerate(values):
            failed = math.isinf(value)
            measure = Measure(value=None if failed else 1 / value, unit="/s", better=Better.HIGHER, reduction="-")
            trial = Trial(
                id=f"{name}-{block}", cell=cell, block=block, position=0, seed=0, conditions=Conditions(), devices=(0,)
            )
            status = Status.OOM if failed else Status.OK
            trials.append(trial)
            results[trial.id] = Result(
                trial_id=trial.id, status=status, cause=None, measures={"samples_per_s": measure}
            )
    return comparison_verdicts(suite, 0, names[0], trials, results, admitted or dict.fromkeys(names, True), set())


def test_a_comparison_names_who_is_faster_and_ranks_all() -> None:
    draw = np.random.default_rng(7)
    base = np.exp(draw.normal(0, 0.02, 9))
    times = {"reference": base, "fast": base * 0.8, "twin": base * 1.0001, "fails": np.where(base > 0, math.inf, base)}
    found = {judged.engine: judged for judged in comparison_of({name: list(t) for name, t in times.items()})}
    assert [judged.verdict.word for judged in found.values()] == [Word.FASTER, Word.EQUIVALENT, Word.SLOWER]
    assert found["fake/fast"].rank == RankInterval(best=1, worst=1)
    assert found["fake/fast"].verdict.ratio == pytest.approx(0.8)
    assert found["fake/twin"].rank == RankInterval(best=2, worst=3)
    assert found["fake/fails"].rank == RankInterval(best=4, worst=4)
    assert found["fake/fast"].verdict.confidence == pytest.approx(1 - 0.05 / 3), "three share the error"


def test_what_is_not_proven_equal_is_not_judged_and_takes_no_rank() -> None:
    times = {"reference": [1.0] * 9, "fast": [0.5] * 9, "other": [2.0] * 9}
    names = [f"fake/{name}" for name in times]
    found = comparison_of(times, {names[0]: True, names[1]: False, names[2]: True})
    assert [(judged.engine, judged.rank) for judged in found] == [("fake/other", RankInterval(best=2, worst=2))]
    assert comparison_of(times, {names[0]: False, names[1]: True, names[2]: True}) == []
