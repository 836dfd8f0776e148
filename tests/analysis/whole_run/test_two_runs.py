"""Two runs side by side: what makes them unlike, what may be allowed, and ratios of times."""

import pytest

from paceline.analysis.whole_run.two_runs import compare_cells, differing_settings, refuse_blocking
from paceline.errors import RequestError
from paceline.schema.conditions import Conditions, Policy
from paceline.schema.run import Run
from support.runs import MACHINE, make_comparison, make_result, make_run, make_trial, make_view

DIFFERENCES = {"versions.torch": ("2.9", "2.8"), "versions.ray": ("2.5", "2.4"), "machine.os": ("Linux 6", "Linux 5")}


def run_with(**changes: object) -> Run:
    return make_run([make_comparison("fake/one")], [make_trial()], **changes)


def test_runs_that_are_alike_differ_in_nothing() -> None:
    assert differing_settings(run_with(), run_with(started_at="2027", seed=5)) == {}


@pytest.mark.parametrize(
    ("changes", "differences"),
    [
        ({"versions": {"torch": "2.8.0"}}, {"versions.torch": ("2.9.0", "2.8.0")}),
        ({"versions": {"torch": "2.9.0", "ray": "2.5"}}, {"versions.ray": ("None", "2.5")}),
        ({"machine": MACHINE.model_copy(update={"cpu_model": "b"})}, {"machine.cpu_model": ("a CPU", "b")}),
        ({"machine": MACHINE.model_copy(update={"host": "there"})}, {}),
        (
            {"conditions": Conditions(policy=Policy.AS_SHIPPED)},
            {"conditions.policy": ("normalised", "as-shipped")},
        ),
        ({"measuring_version": 0}, {"measuring_version": (str(run_with().measuring_version), "0")}),
    ],
)
def test_what_would_explain_a_difference_of_figures_is_told(
    changes: dict, differences: dict[str, tuple[str, str]]
) -> None:
    assert differing_settings(run_with(), run_with(**changes)) == differences


def test_settings_of_a_shared_cell_are_told_by_its_name() -> None:
    longer = make_run([make_comparison("fake/one")], [make_trial(steps=20)])
    assert differing_settings(run_with(), longer) == {"moderate-complexity-fake-fake-one-2r.steps": ("10", "20")}


def test_unlike_runs_are_refused_with_every_difference_and_the_way_out() -> None:
    with pytest.raises(RequestError) as refused:
        refuse_blocking(DIFFERENCES, [], "A and B")
    text = str(refused.value)
    assert text.startswith("A and B")
    for key, (one, other) in DIFFERENCES.items():
        assert f"{key}: {one} / {other}" in text
    assert "--allow" in text


def test_what_is_allowed_by_key_or_group_is_no_bar() -> None:
    refuse_blocking(DIFFERENCES, ["versions.torch", "versions.ray", "machine.os"], "-")
    refuse_blocking(DIFFERENCES, ["versions", "machine"], "-")
    refuse_blocking({}, [], "-")
    with pytest.raises(RequestError) as refused:
        refuse_blocking(DIFFERENCES, ["versions"], "-")
    assert "machine.os" in str(refused.value)
    assert "versions.torch" not in str(refused.value)


@pytest.mark.parametrize("name", ["conditions", "version", "versions.tor", "versions.torch.x"])
def test_allowing_what_does_not_differ_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match=r"versions\.torch"):
        refuse_blocking(DIFFERENCES, [name, "versions", "machine"], "-")


def test_ratios_are_of_times_whatever_the_metric() -> None:
    engines = ("fake/one", "fake/two")
    trials = [make_trial(engine) for engine in engines]
    run = make_run([make_comparison(*engines)], trials)
    views = [
        make_view(run, [make_result(t, samples_per_s=v) for t, v in zip(trials, values, strict=True)])
        for values in ((100.0, 100.0), (80.0, 160.0))
    ]
    one, two = compare_cells(*((view.run, view.rows) for view in views))
    assert (one.engine, one.ratio, one.ratio_to_reference) == ("fake/one", pytest.approx(1.25), None)
    assert two.ratio == pytest.approx(0.625)
    assert two.ratio_to_reference == pytest.approx(0.5), "the machine was a quarter slower in the second run"
    assert (two.first.median, two.second.median, two.unit) == (100.0, 160.0, "samples/s")


def test_cells_that_only_one_run_has_are_left_out() -> None:
    first, second = make_trial("fake/one"), make_trial("fake/two")
    views = [
        make_view(make_run([make_comparison(str(t.cell.engine))], [t]), [make_result(t, samples_per_s=1.0)])
        for t in (first, second)
    ]
    assert compare_cells(*((view.run, view.rows) for view in views)) == []
