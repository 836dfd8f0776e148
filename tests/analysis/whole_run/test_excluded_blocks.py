"""Blocks that were disturbed do not count."""

from paceline.analysis.whole_run.excluded_blocks import excluded_blocks
from paceline.analysis.whole_run.summary import summarise
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.metrics import Better
from paceline.schema.records import Flag, FlagName, Measure, Result
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
