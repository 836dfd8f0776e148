"""A plan before anything has run: every trial, what is missing, what it will take."""

from pathlib import Path

from paceline.report import PROSE_COLUMNS
from paceline.report.plan_table import opening_lines, plan_document, plan_table
from paceline.schema.proof import ProofPlan
from paceline.schema.suite import Load
from paceline.schema.trial import Trial
from support.runs import make_comparison, make_run, make_trial, text_of

ENGINES = ("fake/one", "fake/two")
MISSING = {"fake/two": "two is not installed: pip install two"}


def planned(engine: str, block: int, estimate_s: float | None) -> Trial:
    return make_trial(engine, block).model_copy(update={"estimate_s": estimate_s})


TRIALS = [planned("fake/one", 0, 20.04), planned("fake/two", 0, 40.0), planned("fake/one", 1, None)]
RUN = make_run([make_comparison(*ENGINES)], TRIALS)


def test_the_document_has_every_trial_and_the_sum_of_their_seconds() -> None:
    document = plan_document(RUN.suite, TRIALS, MISSING, ["a note"])
    assert [(t["engine"], t["block"], t["estimate_s"]) for t in document["trials"]] == [
        ("fake/one", 0, 20.0),
        ("fake/two", 0, 40.0),
        ("fake/one", 1, 0.0),
    ]
    assert document["estimate_s"] == 60.0
    assert document["unavailable"] == MISSING
    assert document["notes"] == ["a note"]
    assert document["suite"] == "test"


def test_the_table_has_one_row_a_trial_and_the_whole_cost() -> None:
    text = text_of(plan_table(RUN.suite, TRIALS, {}, []))
    lines = [line.replace("│", " ").split() for line in text.splitlines()]
    assert [words for words in lines if "fake" in words] == [
        ["1", "moderate-complexity", "fake", "fake/one", "2", "1", "20"],
        ["1", "moderate-complexity", "fake", "fake/two", "2", "1", "40"],
        ["2", "moderate-complexity", "fake", "fake/one", "2", "1", "0"],
    ]
    assert "3 trials, about 1.0 min" in text


def test_what_is_missing_is_marked_in_its_rows_and_explained_below() -> None:
    text = text_of(plan_table(RUN.suite, TRIALS, MISSING, ["3 of 4 devices are used"]))
    (marked,) = [line for line in text.splitlines() if "(unavailable)" in line]
    assert "fake/two" in marked
    assert "fake/two: two is not installed: pip install two" in text
    assert "3 of 4 devices are used" in text
    by_workload = text_of(plan_table(RUN.suite, TRIALS, {"fake": "no torch"}, []))
    assert by_workload.count("(unavailable)") == 3


def test_many_jobs_are_counted() -> None:
    text = text_of(plan_table(RUN.suite, [make_trial(ranks=1, load=Load(jobs=12))], {}, []))
    assert " 12 " in text


def test_a_run_begins_with_what_it_will_take_and_where_it_is_written() -> None:
    timed = [(trial, 60.0) for trial in TRIALS]
    lines = opening_lines(RUN, timed, Path("runs/x"))
    text = " ".join(lines)
    assert "3 trials, about 3.0 min" in text
    assert "a CPU, 2 cores" in text
    assert "proof" not in text
    assert lines[-1] == "Run directory: runs/x"
    assert max(map(len, lines)) <= PROSE_COLUMNS
    proof = make_trial().model_copy(update={"proof": ProofPlan()})
    text = " ".join(opening_lines(RUN, [*timed, (proof, 90.0), (proof, 30.0)], Path("runs/x")))
    assert "3 trials, about 3.0 min" in text
    assert "2 proofs of same work, about 2.0 min" in text
