"""Tables as people read them: titles, figures, failures with their cause, and what it all means."""

import pytest
from rich.console import RenderableType

from paceline.analysis.same_work.timed_trials import SameWork
from paceline.analysis.statistics.pair_verdict import verdict
from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict
from paceline.analysis.whole_run.view import RunView
from paceline.report.tables import comparison_table, expectations_table, meaning
from paceline.schema.conditions import Conditions, Policy
from paceline.schema.proof import Proof, WorkOutcome
from paceline.schema.records import FlagName, Result
from paceline.schema.suite import Expectation, Load
from paceline.schema.trial import Status, Trial
from support.runs import (
    EQUAL,
    OTHER_CONDITIONS,
    OTHER_WORK,
    UNPROVEN,
    make_comparison,
    make_result,
    make_run,
    make_trial,
    make_view,
    rows_of,
    text_of,
)

ENGINES = ("fake/one", "fake/two")


def table_of(view: RunView) -> str:
    return text_of(comparison_table(view, view.comparisons[0]))


def row_of(view: RunView, engine: str) -> list[str]:
    """Return the words of the first line that begins with an engine's name."""
    return next(words for words in rows_of(comparison_table(view, view.comparisons[0])) if words[:1] == [engine])


def one_engine(result: Result | None = None, trial: Trial | None = None, **comparison: object) -> RunView:
    trial = trial or make_trial()
    run = make_run([make_comparison("fake/one", **comparison)], [trial])
    return make_view(run, [result or make_result(trial, samples_per_s=10.0)])


def two_engines(*results: dict, **more: object) -> RunView:
    """Return a view of one block of both engines; ``results`` are what ``make_result`` takes."""
    trials = [make_trial(engine) for engine in ENGINES]
    made = [make_result(t, **r) for t, r in zip(trials, results, strict=True)]
    return make_view(make_run([make_comparison(*ENGINES)], trials), made, **more)


def test_the_title_tells_what_was_trained_on_what() -> None:
    text = table_of(one_engine(title="small steps"))
    assert "Moderate Complexity (light load, few at once): small steps" in text
    assert "fake (cpu tier, data: synthetic, generated), 2 ranks, global batch 32, fp32, 10 timed steps after 1" in text
    one_rank = table_of(one_engine(trial=make_trial(ranks=1, warm_up_steps=3)))
    assert "1 rank, global batch 16, fp32, 10 timed steps after 4" in one_rank


def test_many_jobs_have_a_title_and_columns_of_their_own() -> None:
    trial = make_trial(ranks=1, load=Load(jobs=3))
    result = make_result(trial, makespan_s=12.34, makespan_with_startup_s=15.0, jobs_per_h=1234.0, jct_p50_s=9.0)
    view = one_engine(result, trial, load=Load(jobs=3))
    assert "3 jobs together, 1 rank each" in table_of(view)
    assert row_of(view, "fake/one")[1:6] == ["12.3", "15.0", "1,234", "9.00", "-"]


def test_a_training_without_times_shows_its_accuracy() -> None:
    trial = make_trial(evaluate=True)
    view = one_engine(make_result(trial, test_accuracy=0.9123), trial, evaluate=True)
    assert row_of(view, "fake/one")[1] == "91.2%"


def test_figures_of_one_job_have_the_units_of_their_columns() -> None:
    trial = make_trial()
    result = make_result(
        trial,
        samples_per_s=12345.6, step_p50_s=0.00123, step_p95_s=0.0456, first_step_s=1.5, startup_s=3.456,
        peak_pss_bytes=1.5 * 2**30,
    )  # fmt: skip
    figures = row_of(one_engine(result, trial), "fake/one")
    assert figures[1:] == ["12,346", "1.23", "46", "1500", "3.46", "1.50", "equal", "3e-6", "same"]


def test_several_trials_show_median_and_range_over_those_that_count() -> None:
    trials = [make_trial(block=block) for block in range(4)]
    values = (90.0, 100.0, 110.0, 1.0)
    flags = {FlagName.DISTURBED: "others took 40%"}
    results = [
        make_result(t, samples_per_s=v, flags=flags if v == 1.0 else None) for t, v in zip(trials, values, strict=True)
    ]
    view = make_view(make_run([make_comparison("fake/one")], trials), results)
    lines = rows_of(comparison_table(view, view.comparisons[0]))
    row = next(i for i, words in enumerate(lines) if words[:1] == ["fake/one"])
    assert lines[row][1] == "100"
    assert lines[row][-1] == "3/4"
    assert lines[row + 1] == ["90.0..110"]
    assert "block 4 does not count: fake/one: others took 40%" in table_of(view)


def test_a_failure_stands_in_its_row_and_its_cause_below() -> None:
    cause = "RuntimeError: out of luck"
    view = two_engines(
        {"samples_per_s": 10.0}, {"status": Status.TIMEOUT, "cause": cause, "samples_per_s": None}
    )  # fmt: skip
    assert row_of(view, "fake/one")[1] == "10.0"
    assert row_of(view, "fake/two")[1] == "TIMEOUT"
    assert f"fake/two timeout (1 of 1 trials): {cause}" in table_of(view)


def test_what_has_not_run_says_so() -> None:
    trials = [make_trial(engine) for engine in ENGINES]
    run = make_run([make_comparison(*ENGINES)], trials)
    view = make_view(run, [make_result(trials[0], samples_per_s=10.0)], work={"fake/two": UNPROVEN})
    assert row_of(view, "fake/two")[1:3] == ["not", "run"]


def test_flags_are_told_once_a_message_with_the_engines_they_are_about() -> None:
    slow = {FlagName.SERIES_SLOW_DOWN: "steps slow down"}
    view = two_engines(
        {"samples_per_s": 1.0, "flags": slow | {FlagName.PADDED: "28 samples are padding"}},
        {"samples_per_s": 1.0, "flags": slow},
    )
    text = table_of(view)
    assert "all engines: steps slow down" in text
    assert "fake/one: 28 samples are padding" in text
    assert text.count("steps slow down") == 1


def test_other_work_and_other_conditions_are_told_below_the_table() -> None:
    figures = ({"samples_per_s": 1.0}, {"samples_per_s": 1.0})
    view = two_engines(*figures, work={"fake/one": OTHER_WORK}, conditions={"fake/two": OTHER_CONDITIONS})
    assert row_of(view, "fake/one")[-2:] == ["different", "same"]
    assert row_of(view, "fake/two")[-1] == "different"
    text = table_of(view)
    assert "fake/one: NOT the same work: it clips" in text
    assert "fake/two: other conditions: intraop_threads: 2 / 1" in text


@pytest.mark.parametrize(("difference", "words"), [(3e-6, ["equal", "3e-6"]), (0.0, ["equal"]), (None, ["equal"])])
def test_equal_work_shows_how_nearly(difference: float | None, words: list[str]) -> None:
    work = EQUAL.model_copy(update={"max_relative_difference": difference})
    run = make_run([make_comparison("fake/one")], [make_trial()])
    view = make_view(run, [make_result(make_trial(), samples_per_s=1.0)], work={"fake/one": work})
    assert row_of(view, "fake/one")[7:] == [*words, "same"]


def test_another_layout_is_told() -> None:
    trials = [make_trial(), make_trial("fake/two", ranks=1, cores_per_rank=2)]
    results = [make_result(t, samples_per_s=1.0) for t in trials]
    view = make_view(make_run([make_comparison(*ENGINES)], trials), results)
    assert "fake/two: on 1 rank with 2 cores" in table_of(view)


def test_whose_scheduler_placed_many_jobs_is_told() -> None:
    trial = make_trial(ranks=1, load=Load(jobs=3))
    result = make_result(trial, makespan_s=1.0).model_copy(update={"scheduler": "a queue"})
    assert "fake/one: placed by a queue" in table_of(one_engine(result, trial, load=Load(jobs=3)))


def test_as_shipped_is_said_in_the_title() -> None:
    trial = make_trial()
    run = make_run([make_comparison("fake/one")], [trial], conditions=Conditions(policy=Policy.AS_SHIPPED))
    assert "AS SHIPPED" in table_of(make_view(run, [make_result(trial, samples_per_s=1.0)]))
    assert "AS SHIPPED" not in table_of(one_engine())


def sentences(text: RenderableType) -> str:
    """Return what is printed, with its line breaks undone."""
    return " ".join(text_of(text).split())


def said_of(work: dict[str, SameWork]) -> str:
    return sentences(meaning(two_engines({"samples_per_s": 1.0}, {"samples_per_s": 1.0}, work=work)))


def test_equal_rows_are_explained_and_unproven_ones_told_once_a_cause() -> None:
    assert "12 steps" in said_of({})
    text = said_of({"fake/one": UNPROVEN, "fake/two": UNPROVEN})
    assert text.count("nobody has proven it") == 1
    assert "12 steps" not in text


def test_the_state_at_the_end_is_told_with_its_largest_difference() -> None:
    ends = [Proof(outcome=WorkOutcome.EQUAL, steps=1, max_relative_difference=d, cause="") for d in (2e-6, 5e-6)]
    work = [EQUAL.model_copy(update={"end": end}) for end in ends]
    assert "2 of 2 'equal' rows" in said_of(dict(zip(ENGINES, work, strict=True)))
    assert "5e-06" in said_of(dict(zip(ENGINES, work, strict=True)))
    unproven = EQUAL.model_copy(update={"end": Proof.unproven("it has dropout")})
    text = said_of({"fake/one": work[0], "fake/two": unproven})
    assert "1 of 2 'equal' rows" in text
    assert "fake/two: it has dropout" in text


def test_few_blocks_are_no_ranking_and_enough_of_them_share_an_error() -> None:
    assert "No ranking: 1 block." in said_of({})
    pair = EngineVerdict(
        engine="fake/two", against="fake/one", metric="samples_per_s", verdict=verdict([-0.1] * 8), rank=None,
        reference_rank=None,
    )  # fmt: skip
    figures = ({"samples_per_s": 1.0}, {"samples_per_s": 1.0})
    text = sentences(meaning(two_engines(*figures, verdicts={0: [pair]})))
    assert "No ranking" not in text
    assert "2%" in text
    assert "2.5%" in text


def test_expectations_hold_or_are_broken() -> None:
    assert expectations_table(one_engine()) is None
    expected = (Expectation(metric="samples_per_s", value=10.0), Expectation(metric="samples_per_s", value=11.0))
    table = expectations_table(one_engine(expect={"fake/one": expected}))
    assert table is not None
    verdicts = [words[:2] for words in rows_of(table) if words[1:2] == ["fake/one"]]
    assert verdicts == [["holds", "fake/one"], ["BROKEN", "fake/one"]]
