"""Suites as they are read and overridden: every key checked, every refusal names it."""

import pytest

from paceline.conductor.planning.suites import load_suite, override, parse_suite
from paceline.errors import RequestError
from support.builders import fake_suite


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("just words", "not a mapping"),
        ("a: [1, 2", "is not YAML"),
        ("name: x", "description is missing"),
        (fake_suite("{}").replace("warm_up_steps", "warmup_steps"), "did you mean 'warm_up_steps'"),
        (fake_suite("{}").replace("variants", "variant"), "did you mean 'variants'"),
        (fake_suite("{}").replace("steps: 3", "steps: 0"), "steps is 0"),
        (fake_suite("{}").replace("moderate-complexity", "moderate"), "is 'moderate'"),
        (fake_suite("{}").replace("fake/fake@one", "fake"), "is not of the form launcher/strategy"),
    ],
)
def test_a_wrong_suite_is_refused_by_key_and_value(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        parse_suite(text, "test")


def test_set_overrides_one_key_of_all_comparisons_or_one_by_path() -> None:
    suite = override(load_suite("quick"), ("steps=7", "blocks=2", "comparisons.1.warm_up_steps=0", "load={jobs: 3}"))
    assert {c.steps for c in suite.comparisons} == {7}
    assert {c.load.jobs for c in suite.comparisons} == {3}
    assert suite.blocks == 2
    assert [c.warm_up_steps for c in suite.comparisons][:2] == [3, 0]


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("steps", "key=value"),
        ("stepz=3", "did you mean 'steps'"),
        ("steps=zero", "is 'zero'"),
        ("comparisons.9.steps=3", "there is no '9'"),
        ("comparisons.0.stepz=3", "did you mean 'steps'"),
    ],
)
def test_a_wrong_override_is_refused(assignment: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        override(load_suite("quick"), (assignment,))
