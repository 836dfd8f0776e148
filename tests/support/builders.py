"""Small builders of cells, jobs and suites; where public data lie."""

from pathlib import Path
from typing import Any

from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.suite import Category, Load
from paceline.schema.trial import Cell, Job

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"


def make_cell(**changes: Any) -> Cell:
    """Return a plain two-rank cell of the fake engine."""
    fields: dict[str, Any] = {
        "comparison": 0,
        "category": Category.MODERATE_COMPLEXITY,
        "workload": "fake",
        "tier": "cpu",
        "data": "synthetic",
        "dataset": "generated",
        "engine": EngineName("fake", "fake"),
        "load": Load(),
        "ranks": 2,
        "micro_batch": 16,
        "accumulation": 1,
        "samples": None,
        "incomplete_batch": "drop",
        "warm_up_steps": 0,
        "steps": 10,
        "evaluate": False,
        "oversubscribe": False,
        "timeout_s": 60.0,
    }
    return Cell(**(fields | changes))


def make_job(tmp_path: Path, cell: Cell) -> Job:
    """Return the job that a rank of a cell would read."""
    return Job(
        trial_id="t",
        job_id=0,
        cell=cell,
        seed=0,
        conditions=Conditions(),
        devices=(0, 1),
        lease_dir=str(tmp_path),
        out_dir=str(tmp_path / "out"),
        tree_marker="PACELINE_TRIAL=t",
        alone=True,
    )


def fake_suite(settings: str, *, steps: int = 3, more: str = "", engines: str = "[fake/fake@one]") -> str:
    """Return a suite with one comparison of fake engines; ``settings`` is what variant ``one`` does."""
    return f"""
name: test
description: one comparison of the fake engine
variants:
  one: {{settings: {settings}}}
  other: {{settings: {{step_s: 0.01}}}}
comparisons:
  - category: moderate-complexity
    workload: fake
    tier: cpu
    engines: {engines}
    ranks: 2
    warm_up_steps: 0
    steps: {steps}
    {more}
"""
