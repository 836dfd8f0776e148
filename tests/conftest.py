"""Running the real command line, and small builders of cells and records."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.suite import Category, Load
from paceline.schema.trial import Cell, Job

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"


@dataclass
class Cli:
    """The ``paceline`` command, with a state folder of its own so that tests do not wait for each other."""

    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        return os.environ | {"XDG_STATE_HOME": str(self.folder / "state"), "NO_COLOR": "1"} | more

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "paceline.cli.main", *map(str, arguments)]

    def __call__(self, *arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*arguments),
            env=self.environment(**more),
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=280,
        )

    def suite(self, text: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a suite given as YAML into ``self.folder / "run"``."""
        path = self.folder / "suite.yaml"
        path.write_text(text)
        return self("run", path, "--out", self.folder / "run", *arguments)

    def document(self) -> dict[str, Any]:
        shown = self("show", self.folder / "run", "--json")
        assert shown.returncode == 0, shown.stderr
        found: dict[str, Any] = json.loads(shown.stdout)
        return found


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


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
