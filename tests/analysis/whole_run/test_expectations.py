"""What a suite says that it must find, held against what was found."""

import pytest

from paceline.analysis.whole_run.expectations import checked_expectations
from paceline.analysis.whole_run.summary import summarise
from paceline.schema.records import FlagName
from paceline.schema.suite import Expectation, Suite
from paceline.schema.trial import Status
from support.runs import make_comparison, make_result, make_trial


def suite_that_expects(*expected: Expectation) -> Suite:
    comparison = make_comparison("fake/one", expect={"fake/one": expected})
    return Suite(name="s", description="-", comparisons=(comparison,))


@pytest.mark.parametrize(
    ("expected", "holds", "said"),
    [
        (Expectation(metric="samples_per_s", value=64.0), True, "64.3"),
        (Expectation(metric="samples_per_s", value=63.0), False, "63"),
        (Expectation(metric="samples_per_s", value=63.0, within=0.03), True, "3%"),
        (Expectation(metric="samples_per_s", at_least=64.0), True, "64.3"),
        (Expectation(metric="samples_per_s", at_least=65.0), False, "65"),
        (Expectation(metric="startup_s", null=True), True, "not measured"),
        (Expectation(metric="samples_per_s", null=True), False, "64.3"),
        (Expectation(metric="startup_s", value=1.0), False, "not measured"),
        (Expectation(metric="makespan_s", value=1.0), False, "no such metric"),
        (Expectation(metric="makespan_s", null=True), False, "no such metric"),
        (Expectation(flag="padded"), True, "28 samples"),
        (Expectation(flag="padded", says="28"), True, "28 samples"),
        (Expectation(flag="padded", says="29"), False, "28 samples"),
        (Expectation(flag="dropped"), False, "dropped"),
        (Expectation(status="ok"), True, "ok"),
        (Expectation(status="timeout"), False, "timeout"),
    ],
)
def test_an_expectation_holds_or_tells_what_was_found(expected: Expectation, holds: bool, said: str) -> None:
    trial = make_trial()
    result = make_result(trial, flags={FlagName.PADDED: "28 samples are padding"}, samples_per_s=64.3, startup_s=None)
    (checked,) = checked_expectations(suite_that_expects(expected), summarise([trial], {trial.id: result}))
    assert (checked.engine, checked.holds) == ("fake/one", holds)
    assert said in checked.text


def test_an_expected_failure_is_told_with_its_cause() -> None:
    trial = make_trial()
    result = make_result(trial, Status.DIVERGED, "loss nan at step 0")
    rows = summarise([trial], {trial.id: result})
    (checked,) = checked_expectations(suite_that_expects(Expectation(status="diverged")), rows)
    assert checked.holds
    assert "loss nan at step 0" in checked.text


def test_what_was_not_run_is_not_held_against_anybody() -> None:
    rows = summarise([make_trial()], {})
    assert checked_expectations(suite_that_expects(Expectation(status="ok")), rows) == []
