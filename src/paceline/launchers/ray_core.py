"""Ray tasks: a job of one rank is a task, a job of several is a placement group with a task a rank; Ray places both."""

from pathlib import Path
from typing import ClassVar

from paceline.launchers.contract import Command, LoadLauncher, Site
from paceline.launchers.matrix import MATRIX
from paceline.schema.suite import Variant

FRESH = {"max_calls": 1}


class RayCoreLauncher(LoadLauncher):
    """A cluster of its own for each trial, then all jobs submitted as tasks."""

    name = "ray-core"
    row = MATRIX[name]
    modules = ("torch", "ray")
    scheduler = "Ray's scheduler"
    startup_estimate_s = 5.0
    variants: ClassVar[dict[str, Variant]] = {
        "reused": Variant(summary="worker processes are reused (Ray's default)"),
        "fresh": Variant(launcher=FRESH, summary="a new worker process for every task"),
    }

    def placed_by(self, variant: Variant) -> str:
        """Return whose scheduler it is and whether processes are warm: two different effects."""
        processes = "fresh processes" if variant.launcher == FRESH else "worker processes reused"
        return f"{self.scheduler}, {processes}"

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_core", str(plan_file)), site.environment)
