"""What can be listed: names, whether they can run here, and why not."""

import pytest

from paceline import registry
from paceline.conductor.planning import catalogue
from paceline.conductor.planning.suites import built_in_suites
from paceline.schema.metrics import METRICS


def named(rows: list[dict]) -> dict[str, dict]:
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


def test_suites_are_the_built_in_ones_with_what_they_are_for() -> None:
    rows = named(catalogue.suites())
    assert list(rows) == list(built_in_suites())
    assert {"quick", "standard", "selftest"} <= rows.keys()
    assert all(row["available"] and row["about"] for row in rows.values())


def test_workloads_tell_their_sizes_and_data_for_each_tier() -> None:
    rows = named(catalogue.workloads())
    lenet5 = rows["lenet5"]["tiers"]
    assert lenet5["cpu"]["global_batch"] == 64
    assert lenet5["gpu"]["global_batch"] == 1024
    assert lenet5["cpu"]["datasets"] == ["fashion-mnist", "digits"]
    assert "61,706 parameters" in rows["lenet5"]["about"]
    assert [name for name, row in rows.items() if row["selftest_only"]] == ["fake"]


def test_engines_are_the_pairs_of_launcher_and_strategy_that_exist() -> None:
    rows = named(catalogue.engines())
    zero = {f"zero{stage}" for stage in (0, 1, 2, 3)} | {"zero2-offload", "zero3-offload"}
    carried = {
        "torchrun": zero | {"single", "ddp", "fsdp2"},
        "ray-train": zero | {"single", "ddp", "fsdp2"},
        "ray-core": zero | {"single", "ddp", "fsdp2"},
        "deepspeed": zero,
        "python": {"single"},
        "ray-tune": {"single"},
        "fake": {"fake"},
    }
    for launcher, strategies in carried.items():
        assert {f"{launcher}/{strategy}" for strategy in strategies} <= rows.keys()
    assert not {"deepspeed/ddp", "python/ddp", "ray-tune/ddp", "torchrun/fake", "fake/single"} & rows.keys()
    assert rows["ray-core/single"]["scheduler"] != rows["torchrun/single"]["scheduler"]
    assert rows["ray-train/ddp"]["about"].endswith("many jobs: no")
    assert rows["torchrun/ddp"]["scheduler"] in rows["torchrun/ddp"]["about"]
    assert [name for name, row in rows.items() if row["selftest_only"]] == ["fake/fake"]


def test_what_needs_an_absent_package_is_listed_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "missing_modules", lambda modules: [m for m in modules if m == "ray"])
    rows = named(catalogue.engines())
    absent = {name for name, row in rows.items() if not row["available"]}
    assert absent == {name for name in rows if name.startswith("ray-")}
    assert "pip install 'paceline[ray]'" in rows["ray-core/single"]["reason"]
    assert all(row["reason"] is None for name, row in rows.items() if name not in absent)


def test_a_launcher_that_cannot_be_loaded_is_listed_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    names = registry.names
    monkeypatch.setattr(registry, "names", lambda group: [*names(group), "broken"])
    rows = named(catalogue.engines())
    assert not rows["broken/?"]["available"]
    assert "broken" in rows["broken/?"]["reason"]


def test_metrics_tell_unit_and_direction() -> None:
    rows = named(catalogue.metrics())
    assert rows.keys() == METRICS.keys()
    assert (rows["step_p50_s"]["unit"], rows["step_p50_s"]["better"]) == ("s", "lower")
    assert (rows["samples_per_s"]["unit"], rows["samples_per_s"]["better"]) == ("samples/s", "higher")
    assert "samples/s, higher is better" in rows["samples_per_s"]["about"]
