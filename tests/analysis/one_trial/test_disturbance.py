"""When a trial was disturbed, by rules fixed beforehand."""

import pytest

from paceline.analysis.one_trial.disturbance import disturbance_of_load, disturbance_of_window
from paceline.schema.records import Activity, BackgroundLoad, RankRecord


def test_many_jobs_are_disturbed_by_the_same_rules() -> None:
    seen = BackgroundLoad(
        seconds=10, cores=[0, 1], steal_s=0.0, outside_s=3.0, pressure_s=None, throttled=2, memory_available_bytes=0
    )
    assert disturbance_of_load(seen).beyond_limits == [
        "other processes took 15% of the window (limit 10%)",
        "cores were throttled 2 times",
    ]
    assert disturbance_of_load(seen.model_copy(update={"outside_s": 1.0, "throttled": None})).beyond_limits == []


def activity(at_s: float, busy_s: float, trees_s: float, steal_s: float = 0.0) -> Activity:
    return Activity(
        at_ns=int(at_s * 1e9), cores=[0, 1], busy_s=busy_s, steal_s=steal_s, own_s=0.0, trees_s=trees_s,
        major_faults=0, minor_faults=0, involuntary_switches=0, frequency_mhz=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (activity(110, 18.0, 18.0), []),
        (activity(110, 20.0, 17.5), ["other processes took 12% of the window (limit 10%)"]),
        (activity(110, 18.0, 18.0, steal_s=2.0), ["the hypervisor took 10% of the window (limit 5%)"]),
        (activity(100.3, 1.0, 0.0), []),
    ],
)
def test_a_disturbed_window_is_excluded_by_rules_fixed_beforehand(after: Activity, said: list[str]) -> None:
    rank = RankRecord(
        rank=0, process_started_ns=0, reused_process=False, cores=[0], phases=[],
        activity=[activity(100, 0.0, 0.0), after],
    )  # fmt: skip
    assert disturbance_of_window([rank]).beyond_limits == said
