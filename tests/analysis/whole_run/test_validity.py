"""Whether a run holds what it should: what decides between the exit codes 0 and 1."""

import pytest

from paceline.analysis.whole_run.validity import is_valid
from paceline.schema.conditions import Conditions, Policy
from paceline.schema.suite import Expectation
from paceline.schema.trial import Status
from support.runs import EQUAL, OTHER_WORK, UNPROVEN, make_comparison, make_result, make_run, make_trial, make_view

ENGINES = ("fake/one", "fake/two")


def run_of(status: Status = Status.OK, policy: Policy = Policy.NORMALISED, work: object = EQUAL, **comparison) -> bool:
    """Return whether a run is valid whose second engine ends with ``status`` and does ``work``."""
    trials = [make_trial(engine) for engine in ENGINES]
    run = make_run([make_comparison(*ENGINES, **comparison)], trials, conditions=Conditions(policy=policy))
    results = [make_result(trials[0], samples_per_s=10.0), make_result(trials[1], status, samples_per_s=10.0)]
    return is_valid(make_view(run, results, work={"fake/two": work}))


def test_a_run_without_failures_is_valid() -> None:
    assert run_of()
    assert run_of(work=UNPROVEN), "what nobody has proven is told, and is no failure"


@pytest.mark.parametrize("status", [Status.FAILED, Status.OOM, Status.TIMEOUT, Status.DIVERGED, Status.INVALID])
def test_a_trial_that_failed_makes_it_invalid_unless_it_must_fail(status: Status) -> None:
    assert not run_of(status)
    assert run_of(status, expect={"fake/two": (Expectation(status=status),)})
    assert not run_of(status, expect={"fake/one": (Expectation(status="ok"),)})


def test_who_must_fail_and_does_not_breaks_its_expectation() -> None:
    assert not run_of(Status.OK, expect={"fake/two": (Expectation(status="timeout"),)})


def test_other_work_makes_it_invalid_unless_engines_run_as_shipped() -> None:
    assert not run_of(work=OTHER_WORK)
    assert run_of(work=OTHER_WORK, policy=Policy.AS_SHIPPED)


def test_an_expectation_that_does_not_hold_makes_it_invalid() -> None:
    assert run_of(expect={"fake/one": (Expectation(metric="samples_per_s", value=10.0),)})
    assert not run_of(expect={"fake/one": (Expectation(metric="samples_per_s", value=11.0),)})


def test_trials_that_have_not_run_yet_are_no_failures() -> None:
    trials = [make_trial(engine) for engine in ENGINES]
    run = make_run([make_comparison(*ENGINES)], trials)
    assert is_valid(make_view(run, [make_result(trials[0], samples_per_s=10.0)]))
