"""The environment that every process of a trial starts with."""

from pathlib import Path

import pytest

from paceline.launchers.environment import accelerator_names, base_environment
from paceline.schema.conditions import Conditions, Policy


@pytest.mark.parametrize(("visible", "names"), [(None, ("0", "1")), ("3,GPU-abc", ("3", "GPU-abc"))])
def test_accelerators_are_counted_among_the_visible_ones(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, names: tuple[str, ...]
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert accelerator_names((0, 1)) == names
    found = base_environment(Conditions(), "gpu", Path("/tmp/x"), {}, accelerators=names[1:])
    assert found["CUDA_VISIBLE_DEVICES"] == names[1]
    assert found["DS_ACCELERATOR"] == "cuda"


def test_a_rank_never_inherits_another_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "RANK",
        "WORLD_SIZE",
        "MASTER_PORT",
        "RAY_ADDRESS",
        "DS_ACCELERATOR",
        "OMP_NUM_THREADS",
        "KMP_AFFINITY",
    ):
        monkeypatch.setenv(name, "stale")
    found = base_environment(Conditions(), "cpu", Path("/tmp/x"), {"PACELINE_TRIAL": "abc"})
    assert "stale" not in found.values()
    assert found["OMP_NUM_THREADS"] == "1"
    assert found["DS_ACCELERATOR"] == "cpu"
    assert found["PACELINE_TRIAL"] == "abc"


def test_as_shipped_leaves_the_users_tuning_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = base_environment(Conditions(policy=Policy.AS_SHIPPED), "cpu", Path("/tmp/x"), {})
    assert found["OMP_NUM_THREADS"] == "7"
    assert "MALLOC_TOP_PAD_" not in found
